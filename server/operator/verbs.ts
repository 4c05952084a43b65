/** The table of verbs: all that an operator can do, by name; a verb's file is read when it is first asked for. */
import type { AnyVerb } from './verb.ts'

export const VERBS = {
  init: async () => (await import('./init.ts')).initialise,
  status: async () => (await import('./status.ts')).showStatus,
  doctor: async () => (await import('./doctor.ts')).examine,
  'keys.create': async () => (await import('./keys.ts')).createKey,
  'keys.list': async () => (await import('./list-keys.ts')).listKeys,
  'keys.show': async () => (await import('./keys.ts')).showKey,
  'keys.identify': async () => (await import('./keys.ts')).identifyKey,
  'keys.edit': async () => (await import('./edit-key.ts')).editKey,
  'keys.rotate': async () => (await import('./rotate-key.ts')).rotateKey,
  'keys.revoke': async () => (await import('./keys.ts')).revokeKey,
  'limits.show': async () => (await import('./limits.ts')).showLimits,
  'limits.set': async () => (await import('./limits.ts')).setLimits,
  'balance.show': async () => (await import('./balance.ts')).showBalance,
  'balance.top-up': async () => (await import('./balance.ts')).topUp,
  'activity.list': async () => (await import('./activity.ts')).listActivity,
  'activity.show': async () => (await import('./activity.ts')).showActivity,
  'activity.kill': async () => (await import('./kill.ts')).killRequest,
  'activity.kept': async () => (await import('./kept.ts')).showKept,
  'acts.list': async () => (await import('./acts.ts')).listActs,
  backup: async () => (await import('./backup.ts')).noteBackup,
  'backup.restore': async () => (await import('./backup.ts')).noteRestore,
  audit: async () => (await import('./audit.ts')).auditBooks,
  why: async () => (await import('./why.ts')).explain,
  'usage.report': async () => (await import('./usage-report.ts')).reportUsage,
  'usage.drift': async () => (await import('./usage-drift.ts')).showDrift,
  'balance.adjust': async () => (await import('./balance.ts')).adjustBalance,
  'ledger.list': async () => (await import('./ledger.ts')).listLedger,
  'providers.add': async () => (await import('./providers.ts')).addProvider,
  'providers.list': async () => (await import('./providers.ts')).listProviders,
  'providers.show': async () => (await import('./providers.ts')).showProvider,
  'providers.remove': async () => (await import('./providers.ts')).removeProvider,
  'models.list': async () => (await import('./models.ts')).listModels,
  'models.show': async () => (await import('./models.ts')).showModel,
  'models.add': async () => (await import('./models.ts')).addModel,
  'models.price': async () => (await import('./models.ts')).priceModel,
  'models.route.show': async () => (await import('./routes.ts')).showRoute,
  'models.route.set': async () => (await import('./routes.ts')).setHop,
  'models.route.drop': async () => (await import('./routes.ts')).dropHop,
  'models.route.reset': async () => (await import('./routes.ts')).resetRoute,
  'rates.show': async () => (await import('./rates.ts')).showRates,
  'rates.set': async () => (await import('./rates.ts')).setRate,
  'accounts.list': async () => (await import('./accounts.ts')).listAccounts,
  'accounts.show': async () => (await import('./accounts.ts')).showAccount,
  'accounts.create': async () => (await import('./accounts.ts')).createAccount,
  'thresholds.show': async () => (await import('./thresholds.ts')).showThreshold,
  'thresholds.set': async () => (await import('./thresholds.ts')).setThreshold,
  'thresholds.test': async () => (await import('./thresholds.ts')).testThreshold,
  'deliveries.list': async () => (await import('./deliveries.ts')).listDeliveries,
  'deliveries.show': async () => (await import('./deliveries.ts')).showDelivery,
  'deliveries.redeliver': async () => (await import('./deliveries.ts')).redeliver,
  'clients.create': async () => (await import('./clients.ts')).createClient,
  'clients.list': async () => (await import('./clients.ts')).listClients,
  'clients.show': async () => (await import('./clients.ts')).showClient,
  'clients.edit': async () => (await import('./clients.ts')).editClient,
  'clients.rotate-secret': async () => (await import('./clients.ts')).rotateClientSecret,
  'clients.remove': async () => (await import('./clients.ts')).removeClient,
  'clients.rotate-signing-key': async () => (await import('./clients.ts')).rotateSigningKey,
  'users.list': async () => (await import('./people.ts')).listPeople,
  'users.show': async () => (await import('./people.ts')).showPerson,
  'users.add': async () => (await import('./people.ts')).addPerson,
  'users.disable': async () => (await import('./people.ts')).disablePerson,
  'users.enable': async () => (await import('./people.ts')).enablePerson,
  'users.remove': async () => (await import('./people.ts')).removePerson,
  'users.sessions.revoke': async () => (await import('./people.ts')).revokeSessions,
} satisfies Record<string, () => Promise<AnyVerb>>

export type VerbName = keyof typeof VERBS

  'users.identities.remove': async () => (await import('./people.ts')).unlinkIdentity,
  'identities.add': async () => (await import('./identities.ts')).addIdentityProvider,
  'identities.list': async () => (await import('./identities.ts')).listIdentityProviders,
  'identities.show': async () => (await import('./identities.ts')).showIdentityProvider,
  'identities.edit': async () => (await import('./identities.ts')).editIdentityProvider,
  'identities.remove': async () => (await import('./identities.ts')).removeIdentityProvider,
type VerbOf<Name extends VerbName> = Awaited<ReturnType<(typeof VERBS)[Name]>>

/** What a caller sends. */
export type VerbInput<Name extends VerbName> = NonNullable<VerbOf<Name>['sent']>

/** What a caller gets: exactly what `--json` prints. */
export type VerbRecord<Name extends VerbName> = Awaited<ReturnType<VerbOf<Name>['run']>>

export const isVerbName = (name: string): name is VerbName => Object.hasOwn(VERBS, name)
