/** Copies a database as a snapshot; the copy gets its final name only once it is complete. */
import { Database } from 'bun:sqlite'
import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { GatewayError } from '#domain/errors.ts'
import { requireWholeLog } from './whole-log.ts'

export interface CopyOptions {
  /** Whether to copy kept answers: a backup leaves them out, because they are text of conversations and expire within a day. */
  readonly answers: boolean
}

/** How long to wait for another connection's checkpoint of the log. */
const BUSY_TIMEOUT_MS = 10_000

/** The name of an incomplete copy; a crash leaves it under this name. */
const partialOf = (file: string): string => `${file}.${process.pid}.partial`
export const isPartial = (name: string): boolean => /\.\d+\.partial$/.test(name)

/**
 * Copies the database at `path` over a read-only connection, which neither blocks a serving process nor waits for it.
 * @throws store_unavailable if the database's log or the copy is damaged
 */
export function copyFile(path: string, file: string, options: CopyOptions): void {
  requireWholeLog(path)
  const source = new Database(path, { readonly: true, strict: true })
  try {
    source.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    copyDatabase(source, file, options)
  } finally {
    source.close(true)
  }
}

/** Writes, checks and syncs the copy, then renames it, replacing any file of that name. @throws store_unavailable */
export function copyDatabase(source: Database, file: string, { answers }: CopyOptions): void {
  const partial = partialOf(file)
  rmSync(partial, { force: true })
  try {
    source.query('VACUUM INTO ?').run(partial)
    settle(partial, answers)
    sync(partial)
    renameSync(partial, file)
    sync(dirname(file))
  } catch (cause) {
    rmSync(partial, { force: true })
    throw cause
  }
}

/** The copy is rewritten once more than one page in so many is free. */
const WORTH_SHRINKING = 4

function settle(partial: string, answers: boolean): void {
  const copy = new Database(partial, { strict: true })
  try {
    // No journal, because on any failure the file is deleted.
    for (const pragma of ['journal_mode = OFF', 'synchronous = OFF', 'secure_delete = ON']) {
      copy.run(`PRAGMA ${pragma}`)
    }
    if (!answers && hasTable(copy, 'answers')) dropAnswers(copy)
    const findings = quickCheck(copy)
    if (findings.length > 0) throw unsound(findings)
  } finally {
    copy.close(true)
  }
}

function dropAnswers(copy: Database): void {
  copy.run('DELETE FROM answer_pieces')
  copy.run('DELETE FROM answers')
  if (numberOf(copy, 'freelist_count') * WORTH_SHRINKING > numberOf(copy, 'page_count')) {
    copy.run('VACUUM')
  }
}

const numberOf = (database: Database, pragma: string): number =>
  Object.values(database.query<Record<string, number>, []>(`PRAGMA ${pragma}`).get() ?? {})[0] ?? 0

export const hasTable = (database: Database, name: string): boolean =>
  database.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !== null

/** What `PRAGMA quick_check` finds, empty when the file is sound. */
function quickCheck(database: Database): readonly string[] {
  return database
    .query<{ quick_check: string }, []>('PRAGMA quick_check(20)')
    .all()
    .map((row) => row.quick_check)
    .filter((finding) => finding !== 'ok')
}

const unsound = (findings: readonly string[]): GatewayError =>
  new GatewayError('store_unavailable', `the copy is damaged: ${findings.slice(0, 3).join('; ')}`, {
    hint: 'gatewayctl doctor',
  })

/** Of a file or a directory. */
export function sync(path: string): void {
  const isDirectory = statSync(path).isDirectory()
  const descriptor = openSync(path, isDirectory ? 'r' : 'r+')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
