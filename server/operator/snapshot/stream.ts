/** `GET /watch`: a snapshot, then its changes, as JSON lines until the watcher disconnects. */
import { type Account, DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import { pause } from '#domain/clock.ts'
import { toGatewayError } from '#domain/errors.ts'
import type { OperatorDeps } from '../deps.ts'
import { findAccount } from '../find-account.ts'
import { openSnapshots, type SnapshotReader } from './reader.ts'

const MAX_FPS = 10
const USUAL_FPS = 4
const NDJSON = 'application/x-ndjson'

export interface Watchers {
  /** `account` by name or id: without it, the money and keys of the default one and the requests of all; `fps` frames a second from 1 to 10. @throws account_not_found, store_unavailable */
  watch(query: Readonly<Record<string, string | undefined>>): Promise<Response>
}

function readFps(text: string | undefined): number {
  const fps = Math.floor(Number(text ?? USUAL_FPS))
  return Number.isFinite(fps) ? Math.min(MAX_FPS, Math.max(1, fps)) : USUAL_FPS
}

/** The watchers of one account share a reader. */
export function createWatchers(deps: OperatorDeps): Watchers {
  const readers = new Map<string, Promise<SnapshotReader>>()
  const readerOf = (account: Account, isNarrow: boolean): Promise<SnapshotReader> => {
    const scope = isNarrow ? account.id : 'all'
    const known = readers.get(scope)
    if (known) return known
    const opened = openSnapshots(deps, account, isNarrow)
    readers.set(scope, opened)
    opened.catch(() => readers.delete(scope))
    return opened
  }
  return {
    async watch({ account, fps }) {
      const found = await findAccount(deps, account ?? DEFAULT_ACCOUNT_NAME)
      const watching = (await readerOf(found, account !== undefined)).watch()
      const next = async (): Promise<unknown> => {
        await deps.watch?.look()
        return await watching.next()
      }
      return new Response(toLines(next, 1000 / readFps(fps)), {
        headers: { 'Content-Type': NDJSON },
      })
    },
  }
}

/** Pull-based: a watcher that does not read costs nothing. */
function toLines(next: () => Promise<unknown>, everyMs: number): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const closed = new AbortController()
  let isFirst = true
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          if (!isFirst) await pause(everyMs, closed.signal)
          isFirst = false
          controller.enqueue(encoder.encode(`${JSON.stringify(await next())}\n`))
        } catch (thrown) {
          if (closed.signal.aborted) return
          const { code, message } = toGatewayError(thrown)
          controller.enqueue(encoder.encode(`${JSON.stringify({ error: { code, message } })}\n`))
          controller.close()
        }
      },
      cancel() {
        closed.abort()
      },
    },
    { highWaterMark: 0 },
  )
}
