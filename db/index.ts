/** Opens the store of a data directory: takes its lock, migrates its schema, and recovers from a crash. */
import type { Database } from 'bun:sqlite'
import { join } from 'node:path'
import type { OpenAdmission } from '#domain/admission.ts'
import type { Clock } from '#domain/clock.ts'
import { newEpochId } from '#domain/id.ts'
import { LOCAL_NODE } from '#domain/owner.ts'
import type { GatewayStore } from '#signin/store.ts'
import { DATABASE_FILE } from './file-name.ts'
import { connect } from './sqlite/engine/connection.ts'
import { explainOpening, NO_DISK, watchDisk } from './sqlite/engine/disk.ts'
import { lockDirectory, lockFileOf } from './sqlite/engine/lock.ts'
import { NO_CHECKPOINTER, startLogCheckpointer } from './sqlite/engine/log-checkpoint.ts'
import { NO_LOG_SYNC, startLogSync } from './sqlite/engine/log-sync.ts'
import type { OnOlderSchema } from './sqlite/engine/migrate.ts'
import { openDatabase } from './sqlite/engine/open.ts'
import { NEWEST_SCHEMA_VERSION, schemaVersion } from './sqlite/engine/schema-version.ts'
import { requireSoundTables } from './sqlite/files/integrity.ts'
import { noteBoot, requireWholeLog } from './sqlite/files/whole-log.ts'
import { createStore } from './sqlite/store.ts'
import type { Vault } from './vault.ts'

export interface StoreOptions {
  /** An existing directory, or `:memory:`. */
  readonly dataDir: string
  readonly clock: Clock
  /** 32 bytes kept outside the directory's database; without it no credential can be kept or read. */
  readonly masterKey?: Uint8Array | null
  /** Makes every charge wait for the disk; otherwise a power cut may lose the last 20 ms of charges. */
  readonly syncCharges?: boolean
  /**
   * For a process that serves: checks the tables that requests are judged by, and folds the write-ahead log on a thread of its
   * own, because requests would wait for it.
   */
  readonly serves?: boolean
  /** What processes hold that come from the one that had it open before; whatever else is held is voided. */
  readonly held?: readonly OpenAdmission[]
  /** An older database is copied and migrated unless this says otherwise. */
  readonly onOlderSchema?: OnOlderSchema
}

/** @throws store_unavailable when another process holds the directory, the schema is newer than this binary, or older and not to be upgraded, or the disk is full or damaged */
export async function openStore(options: StoreOptions): Promise<GatewayStore> {
  const { dataDir, clock, masterKey = null, syncCharges = false, serves = false } = options
  const inMemory = dataDir === ':memory:'
  const path = inMemory ? dataDir : join(dataDir, DATABASE_FILE)
  const disk = inMemory ? NO_DISK : watchDisk(path)
  const release = inMemory ? () => {} : lockDirectory(dataDir)
  let database: Database | null = null
  let checkpointer = NO_CHECKPOINTER
  try {
    const vault = masterKey === null ? null : await unlock(masterKey)
    if (!inMemory) requireWholeLog(path)
    database = openDatabase(path)
    if (!inMemory) noteBoot(path)
    if (serves) requireSoundTables(database)
    if (schemaVersion(database) !== NEWEST_SCHEMA_VERSION) {
      const { migrate } = await import('./sqlite/engine/migrate.ts')
      migrate(database, path, options.onOlderSchema)
    }
    if (serves && !inMemory) checkpointer = await startLogCheckpointer(database, path)
    const logSync = inMemory ? NO_LOG_SYNC : startLogSync(path, checkpointer.dirty)
    const rest = { clock, vault, syncCharges }
    const openFiles = inMemory ? NO_DISK : watchDisk(path, filesOf(dataDir, path))
    const at = clock.now()
    const { held = [] } = options
    const opening = { owner: { node: LOCAL_NODE, epoch: newEpochId(at) }, at, held }
    const connection = connect(database, logSync, rest, checkpointer, openFiles)
    return createStore(connection, path, opening, release)
  } catch (error) {
    // A running thread would keep the process from exiting.
    await checkpointer.close()
    database?.close(true)
    release()
    throw explainOpening(error, disk)
  }
}

/** The database, its write-ahead log and the log's index, and the lock that keeps a second process away. */
const filesOf = (dataDir: string, path: string): readonly string[] => [
  ...['', '-wal', '-shm'].map((end) => path + end),
  lockFileOf(dataDir),
]

/** Cryptography is loaded for whoever brings a key. */
const unlock = async (masterKey: Uint8Array): Promise<Vault> =>
  (await import('./vault.ts')).openVault(masterKey)
