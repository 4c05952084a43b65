/** Opens a data directory for one command, when no server holds it. */
import { join } from 'node:path'
import { DATABASE_FILE } from '#db/file-name.ts'
import { openStore } from '#db/index.ts'
import type { OpenAdmission } from '#domain/admission.ts'
import { shellWord } from '#forms/shell-word.ts'
import type { OperatorDeps } from '#operator/deps.ts'
import type { GatewayStore } from '#signin/store.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT } from '../exit.ts'
import { readDelivery } from '../settings/delivery-settings.ts'
import { readMasterKey } from '../settings/master-key.ts'
import { readSharedStore, type SharedStore } from '../settings/shared-store.ts'
import { printNote } from '../terminal/output.ts'
import { VERSION } from '../version.ts'
import { denied, fileExists, hasDatabase, isDenied, makePrivateDirectory } from './access.ts'
import { operatorName } from './operator-name.ts'

/** `create`: `init` and `serve` create a missing database; other commands require one. */
export interface OpenOptions {
  readonly create: boolean
  /** Whether a database with an older schema is upgraded, after which older binaries cannot open it; otherwise it is refused. */
  readonly upgrade: boolean
  /** Whether secrets may be stored or read: then the master key is read, if it is there. */
  readonly withMasterKey: boolean
  /** Whether every charge is synced to disk; by default a power cut may lose those of the last 20 ms. */
  readonly syncCharges?: boolean
  /** Whether requests will be served meanwhile. */
  readonly serves?: boolean
  /** What is held by processes that go on from the gateway before. */
  readonly held?: readonly OpenAdmission[]
}

/** The store of this context. @throws store_unavailable, CommandError 1 */
export async function openStoreOf(context: Context, options: OpenOptions): Promise<GatewayStore> {
  const shared = readSharedStore(context)
  return shared === null
    ? await openDirectory(context, options)
    : await openShared(context, shared, options)
}

/** Never migrates it, and makes no master key: every node has the same. A node has its directory to itself, as the socket there is its own. */
async function openShared(
  context: Context,
  { address, node }: SharedStore,
  { withMasterKey, serves = false }: OpenOptions,
): Promise<GatewayStore> {
  const [{ openPostgres }, { openVault }] = await Promise.all([
    import('#db/postgres/store.ts'),
    import('#db/vault.ts'),
  ])
  const masterKey = withMasterKey ? readMasterKey(context, { create: false }) : null
  if (serves && masterKey === null) throw noMasterKey()
  const unlock = serves ? await lockOwn(context) : () => {}
  try {
    const store = await openPostgres({
      address,
      clock: context.clock,
      node: serves ? node : null,
      version: VERSION,
      vault: masterKey && openVault(masterKey),
    })
    const { close } = store
    // Its owner is another after it was ended and has joined again: no copy of the store would tell.
    return Object.assign(store, { close: () => close().finally(unlock) })
  } catch (cause) {
    unlock()
    throw cause
  }
}

async function lockOwn({ dataDir }: Context): Promise<() => void> {
  makePrivateDirectory(dataDir)
  const { lockDirectory } = await import('#db/sqlite/engine/lock.ts')
  return lockDirectory(dataDir)
}

const noMasterKey = (): CommandError =>
  new CommandError(
    'master_key',
    EXIT.failed,
    'there is no master key: every node of this store needs the same one',
    'head -c 32 /dev/urandom | base64 > master.key, then GATEWAY_MASTER_KEY_FILE=master.key at every node',
  )

/** Takes the directory's lock. */
async function openDirectory(
  context: Context,
  { create, upgrade, withMasterKey, syncCharges = false, serves = false, held = [] }: OpenOptions,
): Promise<GatewayStore> {
  const { dataDir, clock } = context
  if (create) makePrivateDirectory(dataDir)
  if (!hasDatabase(dataDir) && !create) throw notInitialised(dataDir)
  try {
    const masterKey = withMasterKey ? await readOwnKey(context, create) : null
    return await openStore({
      dataDir,
      clock,
      masterKey,
      syncCharges,
      serves,
      held,
      onOlderSchema: upgrade
        ? ({ from, to, copy }) =>
            printNote(
              context,
              `upgrading the database from schema ${from} to ${to}; as it was: ${copy}`,
            )
        : 'refuse',
    })
  } catch (cause) {
    throw isDenied(cause) ? denied(join(dataDir, DATABASE_FILE)) : cause
  }
}

/** `create` makes one where there is none. @throws CommandError 1 where another has sealed what is here: it is kept elsewhere, or lost */
async function readOwnKey(context: Context, create: boolean): Promise<Uint8Array | null> {
  const key = readMasterKey(context, { create: false })
  if (key !== null || !create) return key
  const path = join(context.dataDir, DATABASE_FILE)
  const [sealer] = hasDatabase(context.dataDir) ? await sealersOf(path) : []
  if (sealer === undefined) return readMasterKey(context, { create })
  throw new CommandError(
    'master_key',
    EXIT.failed,
    `the secrets in ${path} are sealed by the master key ${sealer}, and there is none here`,
    `put that key back, or name its file in GATEWAY_MASTER_KEY_FILE; if it is lost: (umask 077; head -c 32 /dev/urandom | base64 > ${shellWord(join(context.dataDir, 'master.key'))}), and each secret is then to be set again`,
  )
}

/** What cannot be read is said where it is opened. */
async function sealersOf(path: string): Promise<readonly string[]> {
  const { sealedBy } = await import('#db/sqlite/files/sealed-by.ts')
  try {
    return sealedBy(path)
  } catch {
    return []
  }
}

/** What the operator's verbs need, around a store that this command opened itself. Only one of several nodes loads who watches them. */
export const toOperatorDeps = async (
  context: Context,
  store: GatewayStore,
  dataDir: string | null,
): Promise<OperatorDeps> => ({
  store,
  clock: context.clock,
  version: VERSION,
  dataDir,
  live: null,
  watch:
    store.nodes &&
    (await import('#server/watch-nodes.ts')).watchNodes({
      ...store,
      nodes: store.nodes,
      clock: context.clock,
      here: null,
    }),
  // Getters, because few verbs need them and both read a file.
  get who() {
    return operatorName(context.env)
  },
  get delivery() {
    return readDelivery(context)
  },
  statedCabinetUrl: async () =>
    (await import('../settings/signin-settings.ts')).readCabinetUrl(context),
  probe: deferredProbe(context.clock),
  demoKit: async (at) => {
    const { demoCards, demoProvider } = await import('#upstream/demo/cards.ts')
    return { provider: demoProvider(at), cards: demoCards(at) }
  },
})

/** Loads the provider clients only when a provider is tested. */
function deferredProbe(clock: Context['clock']): OperatorDeps['probe'] {
  const load = async () => (await import('#upstream/probe.ts')).createProbe(clock)
  return {
    listModels: async (...asked) => (await load()).listModels(...asked),
    askModel: async (...asked) => (await load()).askModel(...asked),
    lastSkew: () => null,
  }
}

/** The error for a directory without a database. */
export const notInitialised = (dataDir: string): CommandError =>
  new CommandError(
    'not_initialised',
    EXIT.failed,
    `there is no gateway in ${dataDir}${fileExists(join(dataDir, DATABASE_FILE)) ? `: ${DATABASE_FILE} there is empty` : ''}`,
    'gatewayctl init',
  )
