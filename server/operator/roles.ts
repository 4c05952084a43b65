/** The table of who may do what in the cabinet: each verb, and the roles that may. The only place that decides it. */
import { GatewayError } from '#domain/errors.ts'
import { ROLES, type Role } from '#signin/register/membership.ts'
import type { VerbName } from './verbs.ts'

/** Nobody but the operator. */
const NOBODY: readonly Role[] = []
const EVERYBODY: readonly Role[] = ROLES
const OWNER: readonly Role[] = ['owner']
/** Who sees the whole account. */
const SEES: readonly Role[] = ['owner', 'viewer']
/** Who spends its money; a member by their own keys alone. */
const SPENDS: readonly Role[] = ['owner', 'member']

/** A member is everywhere bounded to the keys that they made (`actor.ts`). */
const PERMITTED: Readonly<Record<VerbName, readonly Role[]>> = {
  'keys.create': SPENDS,
  'keys.list': EVERYBODY,
  'keys.show': EVERYBODY,
  'keys.edit': SPENDS,
  'keys.rotate': SPENDS,
  'keys.revoke': SPENDS,
  'limits.show': EVERYBODY,
  'limits.set': SPENDS,
  'activity.list': EVERYBODY,
  'activity.search': EVERYBODY,
  'activity.count': EVERYBODY,
  'activity.show': EVERYBODY,
  'activity.kept': EVERYBODY,
  why: EVERYBODY,
  'usage.report': EVERYBODY,
  'models.list': EVERYBODY,
  'models.show': EVERYBODY,
  'rates.show': EVERYBODY,
  // Of the account; a member's of their own keys.
  'notices.list': EVERYBODY,
  'accounts.show': SEES,
  'accounts.overview': EVERYBODY,
  'accounts.figures': EVERYBODY,
  'balance.show': SEES,
  'ledger.list': SEES,
  'ledger.count': SEES,
  'thresholds.show': SEES,
  'thresholds.set': OWNER,
  'thresholds.test': OWNER,
  'deliveries.list': SEES,
  'deliveries.show': SEES,
  'deliveries.redeliver': OWNER,
  'accounts.edit': OWNER,
  'accounts.members.list': SEES,
  'accounts.members.add': OWNER,
  'accounts.members.set-role': OWNER,
  'accounts.members.remove': OWNER,
  // Of themselves alone: whom a verb of `OF_ONESELF` names is always the person who acts.
  'users.show': EVERYBODY,
  'users.language': EVERYBODY,
  'users.sessions.list': EVERYBODY,
  'users.sessions.end': EVERYBODY,
  'users.sessions.revoke': EVERYBODY,
  'users.access.list': EVERYBODY,
  'users.access.withdraw': EVERYBODY,
  'users.identities.add': EVERYBODY,
  'users.passkeys.list': EVERYBODY,
  'users.passkeys.remove': EVERYBODY,
  'users.identities.remove': EVERYBODY,

  'keys.identify': NOBODY,
  'accounts.list': NOBODY,
  'accounts.create': NOBODY,
  'accounts.rename': NOBODY,
  'accounts.set-limits': NOBODY,
  'accounts.move-key': NOBODY,
  'accounts.close': NOBODY,
  'balance.top-up': NOBODY,
  'balance.adjust': NOBODY,
  'activity.running': NOBODY,
  'activity.kill': NOBODY,
  'usage.chart': NOBODY,
  'usage.drift': NOBODY,
  reconcile: NOBODY,
  'acts.list': NOBODY,
  init: NOBODY,
  status: NOBODY,
  doctor: NOBODY,
  audit: NOBODY,
  backup: NOBODY,
  'backup.failed': NOBODY,
  'backup.restore': NOBODY,
  'notices.show': NOBODY,
  'notices.seen': NOBODY,
  'notices.test': NOBODY,
  'notices.settings': NOBODY,
  'notices.set': NOBODY,
  export: NOBODY,
  plan: NOBODY,
  apply: NOBODY,
  'providers.add': NOBODY,
  'providers.list': NOBODY,
  'providers.show': NOBODY,
  'providers.edit': NOBODY,
  'providers.credentials.list': NOBODY,
  'providers.credentials.set': NOBODY,
  'providers.credentials.remove': NOBODY,
  'providers.test': NOBODY,
  'providers.remove': NOBODY,
  'models.add': NOBODY,
  'models.price': NOBODY,
  'models.unprice': NOBODY,
  'models.remove': NOBODY,
  'models.refresh': NOBODY,
  'models.refresh.plan': NOBODY,
  'models.alias.list': NOBODY,
  'models.alias.set': NOBODY,
  'models.alias.remove': NOBODY,
  'models.route.show': NOBODY,
  'models.route.list': NOBODY,
  'models.route.order': NOBODY,
  'models.route.set': NOBODY,
  'models.route.drop': NOBODY,
  'models.route.reset': NOBODY,
  'rates.set': NOBODY,
  'groups.list': NOBODY,
  'groups.show': NOBODY,
  'groups.add': NOBODY,
  'groups.remove': NOBODY,
  'clients.create': NOBODY,
  'clients.list': NOBODY,
  'clients.show': NOBODY,
  'clients.edit': NOBODY,
  'clients.rotate-secret': NOBODY,
  'clients.remove': NOBODY,
  'clients.rotate-signing-key': NOBODY,
  'users.list': NOBODY,
  'users.events': NOBODY,
  'users.add': NOBODY,
  'users.edit': NOBODY,
  'users.test-mail': NOBODY,
  'users.disable': NOBODY,
  'users.enable': NOBODY,
  'users.remove': NOBODY,
  'identities.add': NOBODY,
  'identities.list': NOBODY,
  'identities.show': NOBODY,
  'identities.edit': NOBODY,
  'identities.remove': NOBODY,
}

/** The verbs whose `person` is the one who acts. */
export const OF_ONESELF: ReadonlySet<VerbName> = new Set([
  'users.show',
  'users.language',
  'users.sessions.list',
  'users.sessions.end',
  'users.sessions.revoke',
  'users.access.list',
  'users.access.withdraw',
  'users.identities.add',
  'users.passkeys.list',
  'users.passkeys.remove',
  'users.identities.remove',
])

export const mayDo = (role: Role, verb: VerbName): boolean => PERMITTED[verb].includes(role)

/** @throws role_not_allowed */
export function requireRole(role: Role, verb: VerbName): void {
  if (mayDo(role, verb)) return
  const who = PERMITTED[verb].map((one) => `a${one === 'owner' ? 'n' : ''} ${one}`).join(' or ')
  throw new GatewayError(
    'role_not_allowed',
    who === '' ? 'only the operator can do this' : `a ${role} cannot do this: ${who} can`,
  )
}
