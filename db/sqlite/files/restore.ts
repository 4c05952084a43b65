/** Puts another database in the place of a directory's own; at every instant one of the two lies there whole. */
import type { Database } from 'bun:sqlite'
import { copyFileSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { openDatabase } from '../engine/open.ts'
import { copyFile, sync } from './copy.ts'

/**
 * Call it with the directory's lock. `path` is the database's, `source` any database of a gateway, `aside` where what was
 * there is kept. False where nothing was there.
 */
export function replaceDatabase(path: string, source: string, aside: string): boolean {
  const fresh = `${path}.restoring`
  copyFile(source, fresh, { answers: true })
  const hadOne = existsSync(path)
  if (hadOne) keepAside(path, aside)
  // Of the one that goes; SQLite would lay it over the one that comes.
  // The index first: without its log it would tell of one that is damaged.
  for (const end of ['-shm', '-wal']) rmSync(path + end, { force: true })
  renameSync(fresh, path)
  sync(dirname(path))
  return hadOne
}

/** Takes a database out of its place, whole; call it with the directory's lock. */
export function setAside(path: string, aside: string): void {
  keepAside(path, aside)
  for (const end of ['', '-shm', '-wal']) rmSync(path + end, { force: true })
  sync(dirname(path))
}

function keepAside(path: string, aside: string): void {
  const isCheckpointed = checkpoint(path)
  // A second name, not another: a kill between the two renames must not leave the directory without a database.
  try {
    linkSync(path, aside)
  } catch {
    copyFileSync(path, aside)
  }
  if (!isCheckpointed && existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${aside}-wal`)
  sync(dirname(path))
}

/** Brings the log into the file; false when it is too damaged for that, and its log belongs to it. */
function checkpoint(path: string): boolean {
  let database: Database | null = null
  try {
    database = openDatabase(path)
    database.run('PRAGMA wal_checkpoint(TRUNCATE)')
    database.close(true)
    return true
  } catch {
    database?.close()
    return false
  }
}
