/** The figures that live: one stream of events, which ends with the session. */
import type { Instant } from '#domain/clock.ts'
import { makerOf } from '#operator/actor.ts'
import { keptReading } from '#operator/kept-reading.ts'
import type { FiguresRecord } from '#operator/overview.ts'
import { openCookie } from '../cookies.ts'
import { count, usd } from '../draw/parts.ts'
import { findSession, isIdle, type Session } from '../session.ts'
import type { Visit } from '../visit.ts'

/** It is looked so often whether anything has happened. */
const LOOK_MS = 200
/** Figures are read at most so often, for all who look at the same: a request is shown within a second. */
const READ_MS = 600
/** And at least so often, with whether the session goes on. */
const CHECK_MS = 2_000
/** An unchanged figure is not sent; a proxy would close a connection that says nothing. */
const QUIET_TURNS = 7

/** Where a page goes whose session was idle for too long. */
export const ENDED = '/cabinet/ended'

interface Reading {
  /** What had happened when it began. */
  readonly count: string
  readonly begunMs: number
  readonly text: string
}

export async function streamFigures(visit: Visit): Promise<Response> {
  const { request, act, actor, account, operator, deps } = visit
  const encoder = new TextEncoder()
  const closed = new AbortController()
  request.signal.addEventListener('abort', () => closed.abort(), { once: true })
  let { session } = visit
  let shown: Reading | null = null
  let last = ''
  let quiet = 0
  const countNow = async (): Promise<string> => {
    await operator.watch?.look()
    return `${operator.watch?.pulse.recent.count} ${operator.watch?.count()}`
  }

  const read = async (): Promise<Reading> => {
    const begunMs = deps.clock.monotonicMs()
    const count = await countNow()
    return { count, begunMs, text: toText(await act('accounts.figures', { account: account.id })) }
  }
  const name = `figures ${account.id} ${makerOf(actor) ?? ''}`
  const ofStore = { store: operator.store, clock: deps.clock }
  const readLately = (): Promise<Reading> => keptReading(ofStore, name, read, READ_MS)

  /** What is to be shown once anything has happened, or a look at the session is due. */
  const look = async (before: Reading): Promise<Reading> => {
    for (let waited = LOOK_MS; !closed.signal.aborted; waited += LOOK_MS) {
      await Bun.sleep(LOOK_MS)
      const isDue = waited >= CHECK_MS
      if (!isDue && (await countNow()) === before.count) continue
      const lately = await readLately()
      // Read for another page, it may be older than what this one shows.
      if (lately !== before && lately.begunMs >= before.begunMs) return lately
      if (isDue) return before
    }
    return before
  }
  const next = async (): Promise<string> => {
    for (;;) {
      shown = shown === null ? await read() : await look(shown)
      const { text } = shown
      const known = closed.signal.aborted ? undefined : await sessionOf(visit)
      if (known === undefined) return ''
      session = known
      if (text !== last) {
        last = text
        quiet = 0
        return `event: figures\ndata: ${text}\n\n`
      }
      if (++quiet >= QUIET_TURNS) {
        quiet = 0
        return ': \n\n'
      }
    }
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const text = await next().catch(() => '')
        if (closed.signal.aborted) return controller.close()
        controller.enqueue(encoder.encode(text === '' ? endOf(session, deps.clock.now()) : text))
        if (text === '') controller.close()
      },
      cancel() {
        closed.abort()
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, {
    headers: {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    },
  })
}

/** Where the page goes: by itself it signs nobody in again whose session was idle. */
const endOf = (session: Session, at: Instant): string =>
  `event: ended\ndata: ${isIdle(session, at) ? ENDED : ''}\n\n`

/** The session as it is now; undefined unless it, the person and their role are what they were. */
async function sessionOf({
  request,
  operator,
  deps,
  person,
  account,
  role,
}: Visit): Promise<Session | undefined> {
  const { artifacts, people, memberships } = operator.store.signin
  const id = openCookie('cabinet', deps.issuer).read(request) ?? ''
  const session = await findSession(artifacts, id, deps.clock.now())
  const found = await people.find(person.id)
  const membership = await memberships.find(account.id, person.id)
  return found?.disabledAt === null && membership?.role === role ? session : undefined
}

const toText = ({ balance_usd, spend_day_usd, in_flight, latest_request }: FiguresRecord): string =>
  JSON.stringify({
    shown: {
      ...(balance_usd !== null && { balance: usd(balance_usd) }),
      spend_day: usd(spend_day_usd),
      in_flight: count(in_flight),
    },
    latest: latest_request,
  })
