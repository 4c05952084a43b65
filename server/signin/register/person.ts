/** People: those who sign in, each known by an id that says nothing and never changes (`sub`, contract §10). */
import type { Instant } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import { randomName } from './digest.ts'

export type PersonId = `usr_${string}`

export interface Person {
  readonly id: PersonId
  /** As it was first typed, its domain in lower case. */
  readonly email: string
  /** Whether a code that was sent there has come back. */
  readonly isEmailVerified: boolean
  readonly name: string | null
  /** Whose keys and money are this person's; null: nobody's. */
  readonly accountId: AccountId | null
  readonly createdAt: Instant
  /** When what applications are told last changed. */
  readonly updatedAt: Instant
  readonly lastSignInAt: Instant | null
  readonly disabledAt: Instant | null
}

export interface PeopleQuery {
  /** Only addresses that contain it, without regard to case. */
  readonly matching?: string
  readonly accountId?: AccountId
  readonly isDisabled?: boolean
  /** Only those who came before this one. */
  readonly before?: Person
  readonly limit: number
}

export interface People {
  /** @throws already_exists when the address is somebody's */
  add(person: Person): Promise<void>
  find(id: PersonId): Promise<Person | undefined>
  /** Looked for without regard to case. */
  findByEmail(email: string): Promise<Person | undefined>
  /** Newest first. */
  list(query: PeopleQuery): Promise<readonly Person[]>
  count(): Promise<number>
  /**
   * Marks an address as verified by a code, and returns its person. If it is unknown, `newcomer` is added, or the result is
   * undefined. The first verification ends all earlier sessions, tokens and identities. A disabled person stays disabled, and
   * is returned.
   */
  confirmEmail(email: string, newcomer: Person | null, at: Instant): Promise<Person | undefined>
  /** Disabling ends every session, code and token of the person. Undefined when there is no such person. */
  setDisabled(id: PersonId, at: Instant | null): Promise<Person | undefined>
  /** Sessions, codes and tokens end with the person. False when there is no such person. */
  remove(id: PersonId): Promise<boolean>
}

const ID_CHARS = 26

/** 130 random bits; a time-ordered id would disclose when people were added. */
const newPersonId = (): PersonId => `usr_${randomName(ID_CHARS)}`

/** Whoever comes by a code for the first time. */
export const newPerson = (email: string, at: Instant): Person => ({
  id: newPersonId(),
  email,
  isEmailVerified: false,
  name: null,
  accountId: null,
  createdAt: at,
  updatedAt: at,
  lastSignInAt: null,
  disabledAt: null,
})
