/** Memberships. They go with their person. */
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { AccountId } from '#domain/id.ts'
import { invitationMailName } from '#signin/register/invitation.ts'
import type { ExpectedMember, Membership, Memberships, Role } from '#signin/register/membership.ts'
import type { PersonId } from '#signin/register/person.ts'
import { noteAct } from '../log/acts.ts'
import { all, type Engine, get, run, type Statements } from '../statements.ts'
import { dropMail } from './code-mails.ts'
import { requirePerson } from './people.ts'

interface MembershipRow {
  readonly account_id: AccountId
  readonly person_id: PersonId
  readonly role: Role
  readonly since: Instant
}

const toMembership = (row: MembershipRow): Membership => ({
  accountId: row.account_id,
  personId: row.person_id,
  role: row.role,
  since: row.since,
})

/** Of a person in an account. */
type Of = Pick<Membership, 'accountId' | 'personId'>

export const findRow = ({ accountId, personId }: Of): Statements<MembershipRow | null> =>
  get('SELECT * FROM memberships WHERE account_id = $accountId AND person_id = $personId', {
    accountId,
    personId,
  })

/** Whoever belongs to an account, or did, is not invited to it any more; the mail of it is not sent any more either. */
export function* endInvitation(of: Of, at: Instant): Statements<void> {
  const ended = yield* get<{ email: string }>(
    `UPDATE invitations SET ended_at = $at
     WHERE account_id = $accountId AND ended_at IS NULL
       AND email_key = (SELECT email_key FROM people WHERE id = $personId)
     RETURNING email`,
    { ...of, at },
  )
  if (ended !== null) yield* dropMail(invitationMailName(of.accountId, ended.email))
}

/** Nobody who belongs to an account is invited to it any more. Returns the role before. */
export function* join(membership: Membership, at: Instant): Statements<Role | null> {
  const before = (yield* findRow(membership))?.role ?? null
  if (before !== membership.role) {
    yield* run(
      `INSERT INTO memberships VALUES ($accountId, $personId, $role, $since)
       ON CONFLICT (account_id, person_id) DO UPDATE SET role = $role`,
      { ...membership },
    )
  }
  if (before === null) yield* endInvitation(membership, at)
  return before
}

/** In the transaction of the change: of two owners who take each other's role at once, one is none any more. @throws role_not_allowed, person_not_found */
function* requireStanding(of: Of, { by }: ExpectedMember): Statements<void> {
  const { accountId } = of
  if (by !== null && (yield* findRow({ accountId, personId: by }))?.role !== 'owner') {
    throw new GatewayError('role_not_allowed', 'an owner can do this, and you are none any more')
  }
  if ((yield* findRow(of)) === null) {
    throw new GatewayError('person_not_found', 'they do not belong to the account any more')
  }
}

export const createMemberships = (engine: Engine): Memberships => ({
  put: (membership, newcomer, act, expected) =>
    engine.change(function* () {
      const { personId, role } = membership
      if (expected !== undefined) yield* requireStanding(membership, expected)
      yield* requirePerson(personId, newcomer)
      const before = yield* join(membership, act.at)
      if (before !== role) yield* noteAct(act, { role: { from: before, to: role } })
      return before
    }),
  remove: (accountId, personId, act, expected) =>
    engine.change(function* () {
      const of = { accountId, personId }
      if (expected !== undefined) yield* requireStanding(of, expected)
      const gone = yield* run(
        'DELETE FROM memberships WHERE account_id = $accountId AND person_id = $personId',
        of,
      )
      if (gone === 0) return false
      yield* endInvitation(of, act.at)
      yield* noteAct(act)
      return true
    }),
  async find(accountId, personId) {
    const row = await engine.read(() => findRow({ accountId, personId }))
    return row === null ? undefined : toMembership(row)
  },
  async ofAccount(accountId) {
    const rows = await engine.read(() =>
      all<MembershipRow>(
        'SELECT * FROM memberships WHERE account_id = $accountId ORDER BY since, person_id',
        { accountId },
      ),
    )
    return rows.map(toMembership)
  },
  async ofPerson(personId) {
    const rows = await engine.read(() =>
      all<MembershipRow>(
        'SELECT * FROM memberships WHERE person_id = $personId ORDER BY account_id',
        { personId },
      ),
    )
    return rows.map(toMembership)
  },
})
