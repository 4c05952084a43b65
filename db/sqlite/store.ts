/** The SQLite engine: one writing process, hot state in memory, group commit, every port on one connection. */
import { statSync } from 'node:fs'
import type { Activity } from '#domain/activity.ts'
import type { Store, StoreHealth } from '#domain/store.ts'
import type { GatewayStore } from '#signin/store.ts'
import { createAdmissions } from './admissions.ts'
import type { Connection } from './connection.ts'
import { type HotState, startHotState } from './hot-state.ts'
import { integrityFindings } from './integrity.ts'
import { prepareNoteUse } from './key-use.ts'
import { createKeys } from './keys.ts'
import { lazyPort } from './lazy-port.ts'
import { NEWEST_SCHEMA_VERSION, schemaVersion } from './migrate.ts'
import { endLeases, voidOpenHolds } from './recover.ts'
import { schemaFindings } from './schema-findings.ts'
import { createSigninStore } from './signin-store.ts'
import { translatePortErrors } from './translate-errors.ts'
import { prepareWindowReader } from './window-reader.ts'
import { openWindowSlots } from './window-slots.ts'
import { prepareWriter, type Writer } from './writer.ts'

/** Resolves what an earlier process left open, then opens every port. `release` gives the directory back at the end. */
export function createStore(
  connection: Connection,
  path: string,
  release: () => void,
): GatewayStore {
  const { database, commit } = connection
  const slots = openWindowSlots(connection)
  const writer = prepareWriter(connection, slots)
  voidOpenHolds(connection, writer)
  endLeases(connection)
  const windows = prepareWindowReader(connection, slots)
  const hotState = startHotState(connection, windows)

  const noteUse = prepareNoteUse(connection.commit, writer)
  const admissions = createAdmissions(connection, hotState, writer, windows, noteUse)
  const { admit, settle } = admissions

  const ports = translatePortErrors<GatewayStore>({
    keys: createKeys(connection, hotState, noteUse),
    admissions,
    activity: createActivity(connection, writer),
    answers: lazyPort({ find: true, piece: true, keep: true, trim: true }, async () =>
      (await import('./answers.ts')).createAnswers(connection),
    ),
    steadyTime: lazyPort({ last: true, note: true }, async () =>
      (await import('./steady-time.ts')).createSteadyTime(connection),
    ),
    acts: lazyPort({ note: true, list: true }, async () =>
      (await import('./acts.ts')).createActs(connection),
    ),
    ...lazyAccounting(connection, hotState),
    ...lazyCatalogue(connection),
    signin: createSigninStore(connection),
    audit: async () => (await import('./audit.ts')).audit(connection, hotState),
    async health({ checkIntegrity }): Promise<StoreHealth> {
      commit.flush()
      const trouble = commit.trouble()
      return {
        writable: trouble === null,
        trouble,
        schemaVersion: schemaVersion(database),
        newestSchemaVersion: NEWEST_SCHEMA_VERSION,
        hasMasterKey: connection.vault !== null,
        openHolds: hotState.open.size,
        integrityFindings: checkIntegrity ? integrityFindings(database) : null,
        schemaFindings: checkIntegrity ? schemaFindings(database) : null,
        sizeBytes: path === ':memory:' ? 0 : (statSync(path, { throwIfNoEntry: false })?.size ?? 0),
      }
    },
    async close() {
      try {
        commit.close()
      } finally {
        // Even then: a running thread would keep the process from exiting.
        await connection.checkpointer.close()
        try {
          // `true` finalises what is still prepared: without it the log is neither folded into the file nor synced.
          database.close(true)
        } finally {
          release()
        }
      }
    },
  })
  // On the hot path: these two translate their own errors, which saves a promise per call.
  return { ...ports, admissions: { ...ports.admissions, admit, settle } }
}

type Trimming = Pick<Activity, 'trim' | 'keptSince'>
type Reading = Omit<Activity, 'note' | keyof Trimming>

/** Noting is on the path of a request; reading is for people, and loaded when somebody reads. */
function createActivity(connection: Connection, writer: Writer): Activity {
  const { commit } = connection
  return {
    note(entry) {
      // While the disk fails or is nearly full, refusals are not logged.
      if (commit.trouble() === null) commit.defer(() => writer.activity(entry, null))
    },
    ...lazyPort<Reading>(
      { list: true, count: true, find: true, drift: true, usage: true },
      async () => (await import('./activity-reader.ts')).createActivityReader(connection),
    ),
    ...lazyPort<Trimming>({ trim: true, keptSince: true }, async () =>
      (await import('./activity-trimmer.ts')).createActivityTrimmer(connection),
    ),
  }
}

function lazyAccounting(
  connection: Connection,
  hotState: HotState,
): Pick<Store, 'accounts' | 'ledger' | 'thresholds' | 'notices'> {
  return {
    accounts: lazyPort(
      { create: true, rename: true, find: true, findByName: true, list: true },
      async () => (await import('./accounts.ts')).createAccounts(connection),
    ),
    ledger: lazyPort({ credit: true, list: true, count: true, chargeOf: true }, async () =>
      (await import('./ledger.ts')).createLedger(connection, hotState),
    ),
    thresholds: lazyPort({ find: true, set: true, webhookSecret: true }, async () =>
      (await import('./thresholds.ts')).createThresholds(connection, hotState),
    ),
    notices: lazyPort(
      { post: true, claim: true, tried: true, list: true, find: true, trim: true },
      async () => (await import('./notices.ts')).createNotices(connection),
    ),
  }
}

function lazyCatalogue(connection: Connection): Pick<Store, 'models' | 'providers' | 'rates'> {
  const load = async () => (await import('./catalogue.ts')).openCatalogue(connection)
  let loading: ReturnType<typeof load> | null = null
  const catalogue = () => {
    loading ??= load()
    return loading
  }
  return {
    models: lazyPort(
      {
        find: true,
        list: true,
        version: true,
        add: true,
        price: true,
        unprice: true,
        amend: true,
        route: true,
        remove: true,
      },
      async () => (await catalogue()).models,
    ),
    providers: lazyPort(
      {
        add: true,
        find: true,
        list: true,
        edit: true,
        learnBound: true,
        remove: true,
        credential: true,
      },
      async () => (await catalogue()).providers,
    ),
    rates: lazyPort({ at: true, list: true, set: true }, async () => (await catalogue()).rates),
  }
}
