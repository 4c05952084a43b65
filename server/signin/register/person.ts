/** People who sign in, each with an opaque id that never changes (`sub`, contract §10). */
import type { Act } from '#domain/act.ts'
import type { Instant } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import type { Language } from '#domain/language.ts'
import { randomName } from './digest.ts'

export type PersonId = `usr_${string}`

/** Of somebody who is known, or was; no address is like it. */
export const isPersonId = (text: string): text is PersonId => /^usr_[0-9a-z]+$/.test(text)

export interface Person {
  readonly id: PersonId
  /** As it was first typed, its domain in lower case. */
  readonly email: string
  /** Whether the address was verified by a code. */
  readonly isEmailVerified: boolean
  readonly name: string | null
  readonly createdAt: Instant
  /** When the claims for applications last changed. */
  readonly updatedAt: Instant
  readonly lastSignInAt: Instant | null
  readonly disabledAt: Instant | null
  /** The language that they have chosen for the pages; null until then. */
  readonly language: Language | null
}

export interface PeopleQuery {
  /** Only addresses that contain it, case-insensitively. */
  readonly matching?: string
  /** Only members of this account. */
  readonly accountId?: AccountId
  readonly isDisabled?: boolean
  /** Only people added before this one. */
  readonly before?: Person
  readonly limit: number
}

export interface People {
  /** @throws already_exists if the address is taken */
  add(person: Person, act: Act): Promise<void>
  find(id: PersonId): Promise<Person | undefined>
  /** Case-insensitive. */
  findByEmail(email: string): Promise<Person | undefined>
  /** Newest first. */
  list(query: PeopleQuery): Promise<readonly Person[]>
  count(): Promise<number>
  /**
   * Marks an address as verified by a code, and returns its person. If it is unknown, `newcomer` is added, or the result is
   * undefined. The first verification ends all earlier sessions, tokens, identities and passkeys. A disabled person stays disabled, and
   * is returned. `revoked` if the person was revoked after there were `revocations`, as when the sign-in began.
   */
  confirmEmail(
    email: string,
    newcomer: Person | null,
    at: Instant,
    revocations: number,
  ): Promise<Person | 'revoked' | undefined>
  /** Disabling revokes the person: it ends all sessions, codes and tokens, and refuses what was begun before. Undefined if there is no such person. */
  setDisabled(id: PersonId, isDisabled: boolean, act: Act): Promise<Person | undefined>
  /**
   * Changes the name or the address; an absent field stays. A new address is verified at the next sign-in, as the first one was. The
   * act gains nothing of them, because the log of acts outlives a removed person. Undefined if there is no such person.
   * @throws already_exists if the address is taken
   */
  amend(
    id: PersonId,
    amendment: Partial<Pick<Person, 'name' | 'email'>>,
    act: Act,
  ): Promise<Person | undefined>
  /** The act gains the language before. Undefined if there is no such person. */
  setLanguage(id: PersonId, language: Language, act: Act): Promise<Person | undefined>
  /** Also revokes the person. False if there is no such person. */
  remove(id: PersonId, act: Act): Promise<boolean>
}

const ID_CHARS = 26

/** 130 random bits; a time-ordered id would disclose when people were added. */
const newPersonId = (): PersonId => `usr_${randomName(ID_CHARS)}`

/** A new person, from the first verified code. */
export const newPerson = (email: string, at: Instant): Person => ({
  id: newPersonId(),
  email,
  isEmailVerified: false,
  name: null,
  createdAt: at,
  updatedAt: at,
  lastSignInAt: null,
  disabledAt: null,
  language: null,
})
