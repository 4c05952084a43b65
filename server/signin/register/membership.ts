/** Memberships: which people belong to which account, each in one role. What a role may do is in `operator/roles.ts`. */
import type { Act } from '#domain/act.ts'
import type { Instant } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import type { Person, PersonId } from './person.ts'

/** From the one that may do most. */
export const ROLES = ['owner', 'member', 'viewer'] as const

export type Role = (typeof ROLES)[number]

export interface Membership {
  readonly accountId: AccountId
  readonly personId: PersonId
  readonly role: Role
  /** When the person was added; a change of the role leaves it. */
  readonly since: Instant
}

/** What must hold still as their membership is changed: they have one, and whoever changes it is an owner; null is the operator. */
export interface ExpectedMember {
  readonly by: PersonId | null
}

export interface Memberships {
  /**
   * Adds the person to the account, or changes their role; the act gains the role before. A `newcomer` is added in the same
   * transaction. Returns the role before, null if there was none.
   * @throws already_exists if the address of the newcomer is taken, person_not_found, role_not_allowed
   */
  put(
    membership: Membership,
    newcomer: Person | null,
    act: Act,
    expected?: ExpectedMember,
  ): Promise<Role | null>
  /** False if they are not a member, where none is expected. @throws person_not_found, role_not_allowed */
  remove(
    accountId: AccountId,
    personId: PersonId,
    act: Act,
    expected?: ExpectedMember,
  ): Promise<boolean>
  find(accountId: AccountId, personId: PersonId): Promise<Membership | undefined>
  /** Oldest first. */
  ofAccount(accountId: AccountId): Promise<readonly Membership[]>
  /** By the age of the account, oldest first. */
  ofPerson(personId: PersonId): Promise<readonly Membership[]>
}
