/** The PostgreSQL engine: every port on one database, which several nodes share. */
import { newEpochId } from '#domain/id.ts'
import type { StoreHealth } from '#domain/store.ts'
import { within } from '#domain/within.ts'
import type { GatewayStore } from '#signin/store.ts'
import { createModels } from '../catalogue/models.ts'
import { createProviders } from '../catalogue/providers.ts'
import { createRates } from '../catalogue/rates.ts'
import { createKeys } from '../keys/keys.ts'
import { createActs } from '../log/acts.ts'
import { createAccounts } from '../money/accounts.ts'
import { createThresholds } from '../money/thresholds.ts'
import { createEvents } from '../outbox/events.ts'
import { readSettings } from '../outbox/notice-settings.ts'
import { createSigninStore } from '../signin/store.ts'
import { createSteadyTime } from '../steady-time.ts'
import { tellCeilings } from '../tell-ceilings.ts'
import type { Vault } from '../vault.ts'
import { createAdmissions } from './admission/admissions.ts'
import { createAnswers } from './admission/answers.ts'
import { prepareEndUserReader } from './admission/end-users.ts'
import { openCatalogue } from './catalogue/catalogue.ts'
import type { Address } from './engine/address.ts'
import { type Database, NO_NODE, openDatabase, type StoreClock } from './engine/database.ts'
import { engineOf } from './engine/engine.ts'
import { toStoreError } from './engine/errors.ts'
import { isServed, readSchema, requireSchema } from './engine/migrate.ts'
import { join, NO_LIFE, startLife } from './engine/node-life.ts'
import { keepTime } from './engine/store-time.ts'
import { NEWEST_VERSION } from './engine/versions.ts'
import { keysOf } from './keys/keys.ts'
import { openActivity } from './log/activity.ts'
import { prepareDays } from './log/days.ts'
import { ACCOUNTS } from './money/accounts.ts'
import { audit } from './money/audit.ts'
import { createLedger } from './money/ledger.ts'
import { openNodes } from './nodes.ts'
import { createNoticeSettings } from './outbox/notice-settings.ts'
import { createNotices } from './outbox/notices.ts'
import { openMarks } from './outbox/passed-marks.ts'
import { requireSameKey } from './sealed-word.ts'

export interface PostgresOptions {
  readonly address: Address
  /** Set by that of the database, where it can be. */
  readonly clock: StoreClock
  /** Of a process that serves requests, or delivers what waits; null for one that does neither, and only looks or makes a change. */
  readonly node: string | null
  /** Of this binary, as other nodes are told. */
  readonly version?: string
  readonly vault?: Vault | null
}

/** Ends what an earlier epoch of this node has left. @throws store_unavailable, also for a schema that this binary does not know */
export async function openPostgres(options: PostgresOptions): Promise<GatewayStore> {
  const { address, clock, node, version = '0', vault = null } = options
  const owner = { node: node ?? NO_NODE, epoch: newEpochId(clock.now()) }
  const database = openDatabase(address, { clock, owner, vault })
  try {
    await requireSchema(database)
    await keepTime(database, clock)
    if (vault !== null) await requireSameKey(database, vault)
    if (node !== null) {
      await join(database, version)
      // It may have been migrated while no migration saw this node.
      await requireSchema(database)
    }
    return await createStore(database, node !== null)
  } catch (error) {
    await database.close()
    throw toStoreError(error)
  }
}

async function createStore(database: Database, isNode: boolean): Promise<GatewayStore> {
  const engine = engineOf(database)
  const catalogue = await openCatalogue(database)
  const marks = openMarks(database, catalogue)
  const settled = async (): Promise<void> => {
    await database.flush()
    await marks.tell()
  }
  const { nodes, heard } = openNodes(database)
  const { activity, tell } = openActivity(database)
  const life = isNode
    ? startLife(database, [catalogue.refresh, heard, tell, prepareDays(database)])
    : NO_LIFE
  const ports = {
    accounts: createAccounts(engine, ACCOUNTS),
    keys: createKeys(engine, keysOf(database, catalogue)),
    admissions: createAdmissions(database, catalogue, marks, life),
    events: createEvents(engine, {
      readSettings,
      account: "body::jsonb #>> '{data,account_id}'",
      settled,
    }),
    noticeSettings: createNoticeSettings(database, engine),
  }
  return {
    get owner() {
      return database.owner
    },
    ...ports,
    ...tellCeilings(ports, database.clock, prepareEndUserReader(database)),
    ledger: createLedger(database, engine, catalogue),
    thresholds: createThresholds(engine, ACCOUNTS, catalogue),
    notices: createNotices(database, engine, settled),
    catalogue: { current: catalogue.current },
    models: createModels(engine, catalogue),
    providers: createProviders(engine, catalogue),
    rates: createRates(catalogue),
    activity,
    acts: createActs(engine),
    answers: createAnswers(database),
    steadyTime: createSteadyTime(engine),
    nodes,
    signin: createSigninStore(engine),
    audit: () => audit(database),
    health: (options) => readHealth(database, options),
    async close() {
      // Where the database is away, what waits for it is lost: the next start voids it.
      await within(database.flush(LAST_WRITES_MS).then(life.leave), LAST_WRITES_MS).catch(() => {})
      await database.close()
    },
  }
}

/** What is written when the process ends. */
const LAST_WRITES_MS = 10_000

async function readHealth(
  database: Database,
  { checkIntegrity }: { readonly checkIntegrity: boolean },
): Promise<StoreHealth> {
  await database.flush()
  const schema = await readSchema(database)
  const row = await database.get<{ holds: number; size: number }>(
    `SELECT (SELECT count(*) FROM holds WHERE ended_at IS NULL) AS holds, pg_database_size(current_database()) AS size`,
  )
  return {
    writable: true,
    trouble: null,
    schemaVersion: schema.version,
    newestSchemaVersion: isServed(schema) ? schema.version : NEWEST_VERSION,
    hasMasterKey: database.vault !== null,
    openHolds: row?.holds ?? 0,
    integrityFindings: checkIntegrity ? [] : null,
    schemaFindings: checkIntegrity ? [] : null,
    sizeBytes: row?.size ?? 0,
  }
}
