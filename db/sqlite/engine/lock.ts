/** One process per data directory: a lock held by the kernel for the life of the process, so that a kill releases it. */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { GatewayError } from '#domain/errors.ts'
import { explainOpening, troubleOf, watchDisk } from './disk.ts'

/** How long a short command may keep the directory before another gives up. */
const LOCK_WAIT_MS = 2_000

export const lockFileOf = (dataDir: string): string => join(dataDir, 'lock.db')

/** References to held locks: a garbage-collected connection would release its lock. */
const held = new Set<Database>()

/** Takes the lock and returns its release. @throws store_unavailable when another process holds it */
export function lockDirectory(dataDir: string): () => void {
  const lock = new Database(lockFileOf(dataDir), { create: true, strict: true })
  try {
    lock.run(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`)
    // Nothing is ever written to it: without a journal it can be held where the disk has no room for one.
    lock.run('PRAGMA journal_mode = MEMORY')
    lock.run('BEGIN EXCLUSIVE')
  } catch (cause) {
    lock.close()
    if (troubleOf(cause) !== 'locked') throw explainOpening(cause, watchDisk(join(dataDir, '.')))
    throw new GatewayError('store_unavailable', `another gatewayctl process has ${dataDir} open`, {
      hint: 'stop it, or run this command while the gateway answers on its socket: gatewayctl status',
      metadata: { held_directory: dataDir },
      cause,
    })
  }
  held.add(lock)
  return () => {
    held.delete(lock)
    lock.close(true)
  }
}
