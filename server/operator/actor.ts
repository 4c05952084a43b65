/** On whose behalf a verb runs: a person of an account, in the cabinet. What bounds them is applied where accounts and keys are found. */
import type { AccountId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import type { Role } from '#signin/register/membership.ts'
import type { PersonId } from '#signin/register/person.ts'

export interface Actor {
  readonly personId: PersonId
  readonly email: string
  /** The only account that there is for them. */
  readonly accountId: AccountId
  readonly role: Role
}

/** The maker whose keys alone there are: a member's own. Undefined where every key of the account is theirs to see. */
export const makerOf = (actor: Actor | undefined): PersonId | undefined =>
  actor?.role === 'member' ? actor.personId : undefined

/** Whether the key is one that there is for them. */
export const sees = (actor: Actor | undefined, key: ApiKey): boolean =>
  actor === undefined ||
  (key.accountId === actor.accountId && (actor.role !== 'member' || key.madeBy === actor.personId))

/** As the log of acts names them: by their address, and by the id that stays when it changes. */
export const nameOf = ({ email, personId }: Actor): string => `${email} (${personId})`

/** Whether an act is of a person, and not of the operator. */
export const isPersonName = (who: string): boolean => /^\S+@\S+ \(usr_[0-9a-z]+\)$/.test(who)
