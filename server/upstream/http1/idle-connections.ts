/** The pool of idle connections, by origin; the one used last is reused first. */
import { type Connection, dropConnection } from './connection.ts'

const MAX_PER_ORIGIN = 1_024
const SWEEP_MS = 1_000

const idle = new Map<string, Connection[]>()
let sweeper: ReturnType<typeof setInterval> | null = null

/** Takes an idle connection that has not expired; undefined when there is none. */
export function takeIdle(origin: string): Connection | undefined {
  const connections = idle.get(origin)
  if (connections === undefined) return undefined
  const nowMs = performance.now()
  for (;;) {
    const connection = connections.pop()
    if (connection === undefined || connection.idleUntilMs > nowMs) {
      connection?.socket?.ref()
      return connection
    }
    dropConnection(connection)
  }
}

/** Adds a connection, or closes it when the pool is full. Idle connections do not keep the process alive. */
export function keepIdle(connection: Connection, idleMs: number): void {
  const { origin } = connection.target
  let connections = idle.get(origin)
  if (connections === undefined) {
    connections = []
    idle.set(origin, connections)
  }
  if (connections.length >= MAX_PER_ORIGIN) {
    dropConnection(connection)
    return
  }
  connection.idleUntilMs = performance.now() + idleMs
  connection.socket?.unref()
  connections.push(connection)
  sweeper ??= setInterval(sweep, SWEEP_MS).unref()
}

/** Removes a connection that the provider has closed. */
export function forgetIdle(connection: Connection): void {
  const connections = idle.get(connection.target.origin)
  const index = connections?.lastIndexOf(connection) ?? -1
  if (index >= 0) connections?.splice(index, 1)
}

export const countIdle = (origin: string): number => idle.get(origin)?.length ?? 0

function sweep(): void {
  const nowMs = performance.now()
  for (const [origin, connections] of idle) {
    const fresh = connections.filter((connection) => connection.idleUntilMs > nowMs)
    for (const connection of connections)
      if (connection.idleUntilMs <= nowMs) dropConnection(connection)
    if (fresh.length === 0) idle.delete(origin)
    else idle.set(origin, fresh)
  }
  if (idle.size > 0 || sweeper === null) return
  clearInterval(sweeper)
  sweeper = null
}
