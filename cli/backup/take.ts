/** Takes a backup in this process, over a read-only connection, so that a running gateway is not disturbed. */
import { accessSync, constants, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DATABASE_FILE } from '#db/file-name.ts'
import { NEWEST_SCHEMA_VERSION } from '#db/sqlite/engine/schema-version.ts'
import { copyFile } from '#db/sqlite/files/copy.ts'
import { type CopyFacts, examineCopy, readCopyHeader } from '#db/sqlite/files/examine-copy.ts'
import { type Instant, renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { shellWord } from '#forms/shell-word.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT } from '../exit.ts'
import { fileFault } from '../file-fault.ts'
import { denied, hasDatabase, isReadOnly } from '../gateway/access.ts'
import { notInitialised } from '../gateway/open-operator.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { noteDone, print, printJson, printNote } from '../terminal/output.ts'
import { showProgress } from '../terminal/progress.ts'
import { bytes } from '../terminal/relative-time.ts'
import {
  cannotWrite,
  chooseDestination,
  type Destination,
  markTaken,
  removeOldest,
} from './directory.ts'

interface BackupOptions {
  readonly verify: boolean
  readonly keep: number | null
}

/** What `--json` prints of a backup. */
export interface BackupRecord {
  readonly file: string
  readonly taken_at: string
  readonly size_bytes: number
  readonly schema_version: number
  readonly verified: boolean
  /** Older backups that `--keep` removed. */
  readonly removed: readonly string[]
}

/** The operator is told of a failure. @throws CommandError 1 when it cannot be read or written, or the copy is damaged */
export async function takeBackup(
  context: Context,
  stated: string | undefined,
  options: BackupOptions,
): Promise<void> {
  try {
    await take(context, stated, options)
  } catch (cause) {
    if (!isMistyped(cause)) await tellFailure(context, stated ?? null, cause)
    throw cause
  }
}

/** A wrong command, or a directory without a gateway: no backup has failed. */
const isMistyped = (cause: unknown): boolean =>
  cause instanceof CommandError &&
  (cause.exitCode === EXIT.usage || cause.code === 'not_initialised')

/** Where that fails too, the command's own error is all that can be said. */
async function tellFailure(context: Context, file: string | null, cause: unknown): Promise<void> {
  const reason = cause instanceof Error ? cause.message : String(cause)
  await call(context, 'backup.failed', { file, reason }).catch(() => {})
}

async function take(
  context: Context,
  stated: string | undefined,
  options: BackupOptions,
): Promise<void> {
  if (!hasDatabase(context.dataDir)) throw notInitialised(context.dataDir)
  const destination = chooseDestination(context, stated, options.keep)
  const unmark = destination.directory === null ? () => {} : markTaken(destination.file)
  try {
    await takeTo(context, destination, options)
  } finally {
    unmark()
  }
}

async function takeTo(
  context: Context,
  { file, directory }: Destination,
  { verify, keep }: BackupOptions,
): Promise<void> {
  const { dataDir, clock } = context
  const source = join(dataDir, DATABASE_FILE)
  const takenAt = clock.now()
  copy(context, source, file)
  const verified = verify ? await verifyCopy(context, file) : null
  const facts = verified ?? readCopyHeader(file)
  const record: BackupRecord = {
    file,
    taken_at: renderInstant(takenAt),
    size_bytes: statSync(file).size,
    schema_version: facts.schemaVersion,
    verified: verify,
    removed: directory === null || keep === null ? [] : removeOldest(directory, keep, file),
  }
  await recordBackup(context, record, takenAt)
  if (context.json) return printJson(record)
  print(clean(file))
  const size = `${bytes(record.size_bytes)}, schema ${record.schema_version}`
  const checked = verified === null ? '' : `, ${whatIsVerified(verified)}`
  noteDone(context, `backup taken: ${size}${checked}`)
  for (const old of record.removed) printNote(context, `  removed ${clean(old)}`)
  printNote(context, '  the master key is not included: back it up separately')
}

/** Sums of an older schema are not as this binary adds them up. */
const whatIsVerified = ({ audit }: CopyFacts): string =>
  audit === null
    ? 'every page verified; its sums are once serve has upgraded it'
    : 'every page and every sum verified'

function copy(context: Context, source: string, file: string): void {
  demandReadable(context, source)
  const sizeBytes = statSync(source).size
  const { bavail, bsize } = statfsSync(dirname(file))
  if (bavail * bsize < sizeBytes) {
    throw cannotWrite(file, `${bytes(sizeBytes)} needed, ${bytes(bavail * bsize)} free`)
  }
  const progress = showProgress(context, `copying ${bytes(sizeBytes)}`)
  try {
    copyFile(source, file, { answers: false })
  } catch (cause) {
    if (cause instanceof GatewayError) throw failed(cause.message, cause.details.hint ?? null)
    if (isReadOnly(dirname(source))) throw onReadOnlyDisk(context, source)
    throw cannotWrite(file, fileFault(cause))
  } finally {
    progress.done()
  }
}

/** What was not folded into the database yet is read by an index beside it. */
const onReadOnlyDisk = ({ dataDir }: Context, source: string): CommandError =>
  failed(
    `cannot copy ${source}: its disk is read-only, and SQLite has to write beside it`,
    `cp -a ${shellWord(dataDir)} /elsewhere, then gatewayctl backup --data-dir /elsewhere`,
  )

/** Checked first: SQLite's error does not say which of the two files it could not open. */
function demandReadable({ dataDir }: Context, source: string): void {
  try {
    accessSync(source, constants.R_OK)
  } catch {
    throw denied(join(dataDir, DATABASE_FILE))
  }
}

async function verifyCopy(context: Context, file: string): Promise<CopyFacts> {
  const progress = showProgress(context, 'verifying')
  const facts = await examineCopy(file).finally(progress.done)
  const findings = [
    ...facts.integrityFindings,
    ...(facts.audit === null || facts.audit.found === 0
      ? []
      : [`${facts.audit.found} sums do not match its ledger`]),
  ]
  if (findings.length === 0) return facts
  throw failed(
    `the copy ${file} has the same faults as its source:\n${findings.join('\n')}`,
    'gatewayctl audit',
  )
}

const failed = (message: string, hint: string | null): CommandError =>
  new CommandError('backup_failed', EXIT.failed, message, hint)

/** Records the backup in the log of acts; the copy is good even where that fails. */
async function recordBackup(
  context: Context,
  record: BackupRecord,
  takenAt: Instant,
): Promise<void> {
  // The log of acts of an older schema cannot be written until serve upgrades it, and a backup must not upgrade.
  if (record.schema_version !== NEWEST_SCHEMA_VERSION) {
    printNote(
      context,
      '! not recorded in the log of acts: the database has an older schema until serve upgrades it',
    )
    return
  }
  const { file, size_bytes } = record
  try {
    await call(context, 'backup', { file, size_bytes, taken_at: renderInstant(takenAt) })
  } catch (cause) {
    if (!(cause instanceof GatewayError || cause instanceof CommandError)) throw cause
    printNote(context, `! the backup was taken, but could not be recorded: ${clean(cause.message)}`)
  }
}
