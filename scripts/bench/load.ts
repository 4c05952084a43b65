/**
 * A load generator on raw sockets. In a closed loop each connection sends its next request when the last answer has ended; in an open
 * one requests arrive at a rate, however long the answers take.
 */
import type { Socket } from 'bun'
import { clear, ends, type Message, newMessage, says } from './message.ts'

export interface LoadTarget {
  readonly origin: string
  readonly path: string
  /** Asked with in turn. */
  readonly keys: readonly string[]
  readonly body: string
  /** Beside the usual ones, each with its end of line. */
  readonly fields?: string
  /** What stands in the first token of a stream: before it a provider says who speaks, which is no answer yet. */
  readonly token?: string
  /** What must stand at the end of an answer: a stream that breaks ends as well. */
  readonly ending?: string
}

/** No request is sent after either; one that runs is awaited. */
export interface Until {
  readonly seconds?: number
  readonly answers?: number
  /** Arrivals a second, in an open loop: one that finds all connections busy waits for the next, and that counts. */
  readonly rate?: number
}

/** How often it is looked for requests that have arrived; how late one is looked at does not count. */
const TICK_MS = 1

export interface LoadResult {
  readonly requests: number
  /** Answers that were not 200, had no token, or did not come to their end. */
  readonly bad: number
  readonly seconds: number
  readonly p50Micros: number
  readonly p99Micros: number
  readonly longestMicros: number
  /** To the first token, or to the first byte of a body where none was named. */
  readonly firstP50Micros: number
}

/** What has no answer by then is bad. */
const GIVE_UP_SECONDS = 120

interface Call extends Message {
  startedAt: number
  firstAt: number
  /** What the network did not take yet of the request. */
  unsent: Buffer | null
}

/** Keeps `connections` busy, from the moment when all of them are open. */
export async function load(
  target: LoadTarget,
  connections: number,
  { seconds = Number.POSITIVE_INFINITY, answers = Number.POSITIVE_INFINITY, rate }: Until,
): Promise<LoadResult> {
  const requests = target.keys.map((key) => toRequest(target, key))
  const micros: number[] = []
  const firstMicros: number[] = []
  let sent = 0
  let bad = 0
  let end = Number.POSITIVE_INFINITY

  /** In an open loop: since when requests wait for a connection, and connections for a request. */
  const waiting: number[] = []
  const idle: Socket<Call>[] = []

  const isOver = (): boolean => performance.now() >= end || sent >= answers
  const send = (socket: Socket<Call>, startedAt = performance.now()): void => {
    const call = socket.data
    clear(call)
    call.startedAt = startedAt
    call.firstAt = 0
    write(socket, requests[sent++ % requests.length] as Buffer)
  }
  const next = (socket: Socket<Call>): void => {
    const since = waiting.shift()
    if (since !== undefined) send(socket, since)
    else if (isOver()) socket.end()
    else if (rate === undefined) send(socket)
    else idle.push(socket)
  }
  const onData = (socket: Socket<Call>, bytes: Buffer): void => {
    const call = socket.data
    const { tail } = call
    const isWhole = ends(call, bytes)
    if (call.firstAt === 0 && hasBegun(call, tail, bytes, target)) call.firstAt = performance.now()
    if (!isWhole) return
    const { startedAt, firstAt } = call
    if (firstAt === 0 || !isGood(call, target)) bad++
    micros.push((performance.now() - startedAt) * 1000)
    if (firstAt > 0) firstMicros.push((firstAt - startedAt) * 1000)
    next(socket)
  }

  let arrived = 0
  const arrive = (perSecond: number): void => {
    const now = performance.now()
    const due = ((Math.min(now, end) - begin) / 1000) * perSecond
    for (; arrived < due; arrived++) {
      const socket = idle.pop()
      if (socket === undefined) waiting.push(now)
      else send(socket, now)
    }
    if (!isOver()) return
    if (ticking !== null) clearInterval(ticking)
    for (const socket of idle.splice(0)) socket.end()
  }

  const sockets = await Promise.all(
    Array.from({ length: connections }, () => connect(target, onData)),
  )
  const begin = performance.now()
  end = begin + seconds * 1000
  for (const { socket } of sockets) next(socket)
  const ticking = rate === undefined ? null : setInterval(arrive, TICK_MS, rate)
  const giveUp = setTimeout(
    () => {
      for (const { socket } of sockets) socket.terminate()
    },
    ((Number.isFinite(seconds) ? seconds : 0) + GIVE_UP_SECONDS) * 1000,
  )
  await Promise.all(sockets.map(({ closed }) => closed))
  clearTimeout(giveUp)
  const elapsed = (performance.now() - begin) / 1000
  const at = (of: number[], share: number): number =>
    of.sort((a, b) => a - b)[Math.floor(of.length * share)] ?? 0
  return {
    requests: micros.length,
    bad: bad + (sent - micros.length),
    seconds: elapsed,
    p50Micros: at(micros, 0.5),
    p99Micros: at(micros, 0.99),
    longestMicros: micros.at(-1) ?? 0,
    firstP50Micros: at(firstMicros, 0.5),
  }
}

interface Line {
  readonly socket: Socket<Call>
  readonly closed: Promise<void>
}

async function connect(
  { origin }: LoadTarget,
  onData: (socket: Socket<Call>, bytes: Buffer) => void,
): Promise<Line> {
  const { hostname, port } = new URL(origin)
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const socket = await Bun.connect<Call>({
    hostname,
    port: Number(port),
    data: { ...newMessage(), startedAt: 0, firstAt: 0, unsent: null },
    socket: {
      data: onData,
      drain(socket) {
        if (socket.data.unsent !== null) write(socket, socket.data.unsent)
      },
      close: () => resolve(),
    },
  })
  return { socket, closed }
}

function write(socket: Socket<Call>, bytes: Buffer): void {
  const sent = Math.max(0, socket.write(bytes))
  socket.data.unsent = sent < bytes.length ? bytes.subarray(sent) : null
}

/** Whether the token is in these bytes, of which `tail` is what came before. */
const hasBegun = (
  { bodyBytes }: Call,
  tail: string,
  bytes: Buffer,
  { token }: LoadTarget,
): boolean =>
  token === undefined
    ? bodyBytes > 0
    : bytes.includes(token) || says(tail + bytes.toString('latin1'), token)

const isGood = ({ head, tail }: Call, { ending }: LoadTarget): boolean =>
  head.startsWith('HTTP/1.1 200') && (ending === undefined || says(tail, ending))

function toRequest({ origin, path, body, fields = '' }: LoadTarget, key: string): Buffer {
  const { host } = new URL(origin)
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n` +
      `Authorization: Bearer ${key}\r\n${fields}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
