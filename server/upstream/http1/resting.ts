/** The connections that rest between two requests, by origin: the latest to rest is the first to serve again. */
import { type Connection, dropConnection } from './connection.ts'

const MOST_PER_ORIGIN = 1_024
const SWEEP_MS = 1_000

const resting = new Map<string, Connection[]>()
let sweeper: ReturnType<typeof setInterval> | null = null

/** A connection that has rested no longer than it may, or undefined. It is the taker's until it rests again. */
export function takeResting(origin: string): Connection | undefined {
  const lines = resting.get(origin)
  if (lines === undefined) return undefined
  const nowMs = performance.now()
  for (;;) {
    const connection = lines.pop()
    if (connection === undefined || connection.restsUntilMs > nowMs) {
      connection?.socket?.ref()
      return connection
    }
    dropConnection(connection)
  }
}

/** Lets a connection rest; it keeps no process alive. One too many is hung up. */
export function rest(connection: Connection, restMs: number): void {
  const { origin } = connection.target
  let lines = resting.get(origin)
  if (lines === undefined) {
    lines = []
    resting.set(origin, lines)
  }
  if (lines.length >= MOST_PER_ORIGIN) {
    dropConnection(connection)
    return
  }
  connection.restsUntilMs = performance.now() + restMs
  connection.socket?.unref()
  lines.push(connection)
  sweeper ??= setInterval(sweep, SWEEP_MS).unref()
}

/** Takes out a connection that the other side has closed. */
export function forgetResting(connection: Connection): void {
  const lines = resting.get(connection.target.origin)
  const place = lines?.lastIndexOf(connection) ?? -1
  if (place >= 0) lines?.splice(place, 1)
}

/** How many rest. */
export const countResting = (origin: string): number => resting.get(origin)?.length ?? 0

function sweep(): void {
  const nowMs = performance.now()
  for (const [origin, lines] of resting) {
    const fresh = lines.filter((connection) => connection.restsUntilMs > nowMs)
    for (const connection of lines) if (connection.restsUntilMs <= nowMs) dropConnection(connection)
    if (fresh.length === 0) resting.delete(origin)
    else resting.set(origin, fresh)
  }
  if (resting.size > 0 || sweeper === null) return
  clearInterval(sweeper)
  sweeper = null
}
