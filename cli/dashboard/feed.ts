/** The feed: frames from the running gateway; when it stops, the feed reconnects until it is back. */
import { existsSync } from 'node:fs'
import type { FrameRecord, SnapshotRecord } from '#operator/snapshot/record.ts'
import { NO_TIMEOUT } from '../gateway/operator.ts'
import { splitLines } from '../gateway/split-lines.ts'
import { mergeFrame } from './merge-frame.ts'

/** State of the connection; while the gateway is away, the last snapshot stays on the screen, dimmed. */
export type Link =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  /** Connected, but no frames arrive: the snapshot is old. */
  | { readonly kind: 'silent'; readonly sinceMs: number }
  | { readonly kind: 'away'; readonly sinceMs: number; readonly why: string }

export interface FeedOptions {
  readonly socket: string
  readonly account: string | undefined
  readonly fps: number
  /** How long without a frame counts as silence; five seconds by default. */
  readonly silenceMs?: number
  /** Before the first frame. */
  onAnswer?(response: Response): void
  onFrame(snapshot: SnapshotRecord): void
  onLink(link: Link): void
}

export interface Feed {
  /** Another account; undefined is all of them. */
  setAccount(account: string | undefined): void
  /** Changes the number of frames per second. */
  setRate(fps: number): void
  reconnect(): void
  stop(): void
}

const FIRST_WAIT_MS = 250
const MAX_WAIT_MS = 2_000
/** Without a frame for this long, the gateway counts as not answering; the slowest rate is one frame per second. */
export const SILENCE_MS = 5_000

export function startFeed(options: FeedOptions): Feed {
  let { fps, account } = options
  let isStopped = false
  let connection = new AbortController()
  let wake: (() => void) | null = null
  let silence: ReturnType<typeof setTimeout> | undefined

  /** Starts the silence timer. Counted from the last frame, also after a change of rate. */
  const expectFrame = (sinceMs: number): void => {
    const { silenceMs = SILENCE_MS } = options
    const restMs = Math.max(0, sinceMs + silenceMs - performance.now())
    clearTimeout(silence)
    silence = setTimeout(() => options.onLink({ kind: 'silent', sinceMs }), restMs)
  }

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  const run = async (): Promise<void> => {
    let waitMs = FIRST_WAIT_MS
    let awaySinceMs: number | null = null
    let lastFrameMs: number | null = null
    while (!isStopped) {
      connection = new AbortController()
      const { signal } = connection
      expectFrame(lastFrameMs ?? performance.now())
      let why = 'the gateway closed the connection'
      try {
        await readFrames({ ...options, fps, account }, signal, (snapshot) => {
          if (isStopped) return
          waitMs = FIRST_WAIT_MS
          awaySinceMs = null
          lastFrameMs = performance.now()
          expectFrame(lastFrameMs)
          options.onLink({ kind: 'live' })
          options.onFrame(snapshot)
        })
      } catch (cause) {
        why = cause instanceof Error ? cause.message : String(cause)
      }
      clearTimeout(silence)
      if (isStopped) return
      // Aborted by a change of rate or account, which is no failure.
      if (signal.aborted) continue
      lastFrameMs = null
      awaySinceMs ??= performance.now()
      options.onLink({ kind: 'away', sinceMs: awaySinceMs, why })
      await pause(waitMs)
      waitMs = Math.min(MAX_WAIT_MS, waitMs * 2)
    }
  }
  void run()

  const reconnect = (): void => {
    connection.abort()
    wake?.()
  }
  return {
    setAccount(wanted) {
      account = wanted
      reconnect()
    },
    setRate(wanted) {
      fps = wanted
      reconnect()
    },
    reconnect,
    stop() {
      isStopped = true
      clearTimeout(silence)
      reconnect()
    },
  }
}

type Source = Pick<FeedOptions, 'socket' | 'account' | 'fps' | 'onAnswer'>

/** Reads until the gateway closes the stream. @throws when no gateway runs, or it refuses */
async function readFrames(
  source: Source,
  signal: AbortSignal,
  onSnapshot: (snapshot: SnapshotRecord) => void,
): Promise<void> {
  let snapshot: SnapshotRecord | null = null
  for await (const line of readLines(source, signal)) {
    const frame = JSON.parse(line) as FrameRecord | Refusal
    if ('error' in frame) throw new Error(frame.error.message)
    if (snapshot === null) requireAllParts(frame)
    snapshot = mergeFrame(snapshot, frame)
    onSnapshot(snapshot)
  }
}

interface Refusal {
  readonly error: { readonly code: string; readonly message: string; readonly hint?: string | null }
}

/** A refusal by the operator API, such as an unknown account. */
export class Refused extends Error {
  readonly code: string
  readonly hint: string | null

  constructor({ error }: Refusal) {
    super(error.message)
    this.name = 'Refused'
    this.code = error.code
    this.hint = error.hint ?? null
  }
}

async function* readLines(
  { socket, account, fps, onAnswer }: Source,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  if (!existsSync(socket)) throw new Error('no gateway is running')
  const query = new URLSearchParams({ fps: String(fps), ...(account && { account }) })
  const response = await fetch(`http://gateway/watch?${query}`, {
    unix: socket,
    signal,
    ...NO_TIMEOUT,
  })
  onAnswer?.(response)
  if (!response.ok) throw new Refused((await response.json()) as Refusal)
  yield* splitLines(response.body)
}

/** The compiler sees that none is left out. */
const PARTS: Readonly<Record<keyof SnapshotRecord, true>> = {
  at: true,
  account: true,
  gateway: true,
  in_flight: true,
  traffic: true,
  money: true,
  keys: true,
  models: true,
  providers: true,
  notices: true,
  trends: true,
  log: true,
  errors: true,
}

/** A gateway that was not restarted after an upgrade may send fewer fields than this program draws. @throws TypeError */
function requireAllParts(frame: FrameRecord): void {
  const missing = Object.keys(PARTS).find(
    (part) => frame[part as keyof SnapshotRecord] === undefined,
  )
  if (missing === undefined) return
  throw new TypeError(`the running gateway is of another version: its snapshot has no "${missing}"`)
}

/** One whole snapshot. @throws Refused, TypeError, TimeoutError after some seconds of silence, or the error of the connection */
export async function readOnce(
  source: Omit<Source, 'fps'>,
  silenceMs = SILENCE_MS,
): Promise<SnapshotRecord> {
  const gone = new AbortController()
  const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(silenceMs)])
  try {
    for await (const line of readLines({ ...source, fps: 1 }, signal)) {
      const frame = JSON.parse(line) as FrameRecord
      requireAllParts(frame)
      return mergeFrame(null, frame)
    }
  } finally {
    gone.abort()
  }
  throw new Error('the gateway closed the connection')
}
