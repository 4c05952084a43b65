/** The SQLite engine: one writing process, hot state in memory, group commit, every port on one connection. */
import { statSync } from 'node:fs'
import type { Activity } from '#domain/activity.ts'
import type { OpenAdmission } from '#domain/admission.ts'
import type { Catalogues } from '#domain/catalogue.ts'
import type { Instant } from '#domain/clock.ts'
import type { EpochId } from '#domain/id.ts'
import type { Owner } from '#domain/owner.ts'
import type { Store, StoreHealth } from '#domain/store.ts'
import type { GatewayStore } from '#signin/store.ts'
import type { HeldCatalogue } from '../catalogue/held.ts'
import { createModels } from '../catalogue/models.ts'
import { createProviders } from '../catalogue/providers.ts'
import { createRates } from '../catalogue/rates.ts'
import { createKeys } from '../keys/keys.ts'
import { createActs } from '../log/acts.ts'
import { createAccounts } from '../money/accounts.ts'
import { createEvents } from '../outbox/events.ts'
import { createSigninStore } from '../signin/store.ts'
import type { Engine } from '../statements.ts'
import { createSteadyTime } from '../steady-time.ts'
import { tellCeilings } from '../tell-ceilings.ts'
import { createAdmissions } from './admission/admissions.ts'
import { prepareEndUserReader } from './admission/end-users.ts'
import { prepareExpiry } from './admission/expire.ts'
import { type HotState, startHotState, toOpenAdmission } from './admission/hot-state.ts'
import { prepareRepeats } from './admission/repeats.ts'
import { prepareWindowReader } from './admission/window-reader.ts'
import { openWindowSlots } from './admission/window-slots.ts'
import { prepareWriter, type Writer } from './admission/writer.ts'
import { openCatalogue } from './catalogue/catalogue.ts'
import type { Connection } from './engine/connection.ts'
import { translatePortErrors, unavailable } from './engine/disk.ts'
import { engineOf } from './engine/engine.ts'
import { lazyPort } from './engine/lazy-port.ts'
import { NEWEST_SCHEMA_VERSION, schemaVersion } from './engine/schema-version.ts'
import { integrityFindings } from './files/integrity.ts'
import { keysOf, prepareNoteUse } from './keys/keys.ts'
import { accountsOf } from './money/accounts.ts'
import { endLeases } from './outbox/end-leases.ts'
import {
  createNoticeSettings,
  type HeldNoticeSettings,
  holdNoticeSettings,
} from './outbox/notice-settings.ts'
import { createNotices } from './outbox/notices.ts'

/** Who opens it, and when. */
export interface Opening {
  readonly owner: Owner
  readonly at: Instant
  /** What is held by processes that come from the one that had it open before. */
  readonly held?: readonly OpenAdmission[]
}

/** Resolves what an earlier process left open, then opens every port. `release` gives the directory back at the end. */
export function createStore(
  connection: Connection,
  path: string,
  { owner, at, held = [] }: Opening,
  release: () => void,
): GatewayStore {
  const { database, commit, clock } = connection
  const slots = openWindowSlots(connection)
  const catalogue = openCatalogue(connection)
  const noticeSettings = holdNoticeSettings(connection)
  const writer = prepareWriter(connection, slots, catalogue, noticeSettings)
  const windows = prepareWindowReader(connection, slots)
  const hotState = startHotState(connection, windows)
  const repeats = prepareRepeats(connection)
  const ended = new Set<EpochId>()
  const { expireOthers, ...expiry } = prepareExpiry(connection, hotState, writer, repeats, ended)
  expireOthers(owner, held, at)
  endLeases(connection)

  const noteUse = prepareNoteUse(connection.commit, writer)
  const admissions = {
    ...createAdmissions(
      connection,
      hotState,
      writer,
      windows,
      repeats,
      noteUse,
      catalogue,
      noticeSettings,
      ended,
    ),
    ...expiry,
  }
  const engine = engineOf(connection)
  const keys = createKeys(engine, keysOf(connection, hotState, noteUse))

  const close = prepareClose(connection, release)
  const ports = translatePortErrors<Omit<GatewayStore, 'owner'>>({
    keys,
    admissions,
    activity: createActivity(connection, writer),
    answers: lazyPort({ find: true, piece: true, stage: true, trim: true }, async () =>
      (await import('./admission/answers.ts')).createAnswers(connection, repeats),
    ),
    ...onEitherEngine(engine, catalogue, noticeSettings),
    ...lazyAccounting(connection, engine, hotState, catalogue),
    noticeSettings: createNoticeSettings(connection, noticeSettings, hotState.forgetMarks),
    catalogue,
    audit: async () => (await import('./money/audit.ts')).audit(connection, hotState),
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
        schemaFindings: checkIntegrity
          ? (await import('./files/schema-findings.ts')).schemaFindings(database)
          : null,
        sizeBytes: path === ':memory:' ? 0 : (statSync(path, { throwIfNoEntry: false })?.size ?? 0),
      }
    },
    close,
    async handOver() {
      commit.flush()
      if (!commit.writable) throw unavailable()
      await close()
      return [...hotState.open].map(([, hold]) => toOpenAdmission(hold))
    },
  })
  // On the hot path: these translate their own errors, which saves a promise per call.
  const telling = { ...ports, keys: { ...ports.keys, findBySecret: keys.findBySecret } }
  return {
    owner,
    ...ports,
    ...tellCeilings(telling, clock, prepareEndUserReader(connection)),
    admissions: { ...ports.admissions, admit: admissions.admit, settle: admissions.settle },
    catalogue,
  }
}

function onEitherEngine(
  engine: Engine,
  catalogue: HeldCatalogue,
  settings: HeldNoticeSettings,
): Pick<
  GatewayStore,
  'acts' | 'events' | 'models' | 'notices' | 'providers' | 'rates' | 'signin' | 'steadyTime'
> {
  return {
    acts: createActs(engine),
    events: createEvents(engine, {
      readSettings: settings.read,
      account: "json_extract(body, '$.data.account_id')",
      settled: engine.settled,
    }),
    notices: createNotices(engine),
    models: createModels(engine, catalogue),
    providers: createProviders(engine, catalogue),
    rates: createRates(catalogue),
    signin: createSigninStore(engine),
    steadyTime: createSteadyTime(engine),
  }
}

function prepareClose(
  { database, commit, checkpointer }: Connection,
  release: () => void,
): () => Promise<void> {
  let closing: Promise<void> | null = null
  const close = async (): Promise<void> => {
    try {
      commit.close()
    } finally {
      // Even then: a running thread would keep the process from exiting.
      await checkpointer.close()
      try {
        // `true` finalises what is still prepared: without it the log is neither folded into the file nor synced.
        database.close(true)
      } finally {
        release()
      }
    }
  }
  return () => {
    closing ??= close()
    return closing
  }
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
      {
        list: true,
        search: true,
        count: true,
        find: true,
        drift: true,
        usage: true,
        served: true,
        trend: true,
      },
      async () => (await import('./log/activity-reader.ts')).createActivityReader(connection),
    ),
    ...lazyPort<Trimming>({ trim: true, keptSince: true }, async () =>
      (await import('./log/activity-trimmer.ts')).createActivityTrimmer(connection),
    ),
  }
}

function lazyAccounting(
  connection: Connection,
  engine: Engine,
  hotState: HotState,
  catalogue: Catalogues,
): Pick<Store, 'accounts' | 'ledger' | 'thresholds'> {
  const of = accountsOf(hotState)
  return {
    accounts: createAccounts(engine, of),
    ledger: lazyPort({ credit: true, list: true, count: true, chargeOf: true }, async () =>
      (await import('./money/ledger.ts')).createLedger(connection, engine, of, catalogue),
    ),
    thresholds: lazyPort({ find: true, findMany: true, set: true, webhookSecret: true }, async () =>
      (await import('../money/thresholds.ts')).createThresholds(engine, of, catalogue),
    ),
  }
}
