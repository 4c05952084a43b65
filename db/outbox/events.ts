/** Events: what was raised, what still lasts, what is held back, and what was seen. */
import { CAUSE_NAMES, CAUSES, type CauseName, type Severity } from '#domain/cause.ts'
import { DAY_MS, type Instant, LARGE_STEP_MS, later } from '#domain/clock.ts'
import { DIGEST, draftDigest, type Events, type StoredEvent } from '#domain/event.ts'
import { type EventId, eventsFrom } from '#domain/id.ts'
import { channelsOf } from '#domain/low-balance.ts'
import { noteAct } from '../log/acts.ts'
import { all, count, type Engine, get, readSettled, run, type Statements } from '../statements.ts'
import { type ReadSettings, raise, type Sendable, sendTo } from './raise.ts'

interface EventRow {
  readonly id: EventId
  readonly cause: CauseName
  readonly subject: string
  readonly severity: Severity
  readonly body: string
  readonly raised_at: Instant
  readonly lifted_at: Instant | null
  readonly seen_at: Instant | null
  readonly held_until: Instant | null
  readonly sent_as: EventId | null
}

const toEvent = (row: EventRow): StoredEvent => ({
  id: row.id,
  cause: row.cause,
  subject: row.subject,
  severity: row.severity,
  body: row.body,
  at: row.raised_at,
  liftedAt: row.lifted_at,
  seenAt: row.seen_at,
  heldUntil: row.held_until,
  sentAs: row.sent_as,
})

/** What each engine has of its own. */
export interface EventsOf {
  readonly readSettings: ReadSettings
  /** The account of an event's facts, in the words of its index. */
  readonly account: string
  /** Resolves when what has happened by now is among the events. */
  settled(): Promise<void>
}

const OPEN = 'cause = $cause AND subject = $subject AND lifted_at IS NULL'

export const createEvents = (engine: Engine, of: EventsOf): Events => ({
  raise: (event, act) =>
    engine.change(function* () {
      if (act !== null) yield* noteAct(act)
      return yield* raise(event, of.readSettings)
    }),

  async lift(cause, subject, at, then) {
    const open = { cause, subject }
    if ((await readSettled(engine, () => count(`events WHERE ${OPEN}`, open))) === 0) return false
    return await engine.change(function* () {
      const lifted = yield* run(`UPDATE events SET lifted_at = $at WHERE ${OPEN}`, { ...open, at })
      if (lifted === 0) return false
      if (then !== null) yield* raise(then, of.readSettings)
      return true
    })
  },

  async release(at) {
    await of.settled()
    if ((await engine.read(() => findHeld(at))).length === 0) return 0
    return await engine.change(() => release(at, of.readSettings))
  },

  see: (upTo, act) =>
    engine.change(function* () {
      const seen = yield* run(
        'UPDATE events SET seen_at = $at WHERE id <= $upTo AND seen_at IS NULL',
        { upTo, at: act.at },
      )
      if (seen > 0) yield* noteAct(act, { notices: seen })
      return seen
    }),

  trim: (before, limit) =>
    engine.tryRun(
      'DELETE FROM events WHERE id IN (SELECT id FROM events WHERE id < $below ORDER BY id LIMIT $limit)',
      { below: eventsFrom(before), limit },
    ),

  ...readEvents(engine, of),
})

const LASTING = CAUSE_NAMES.filter((name) => CAUSES[name].lasts)

const STILL_OPEN = `lifted_at IS NULL AND cause IN (${LASTING.map((name) => `'${name}'`).join(', ')})`

const readEvents = (
  engine: Engine,
  { account, settled }: EventsOf,
): Pick<Events, 'list' | 'find' | 'unseen'> => ({
  async list({ accountId, unseenOnly = false, openOnly = false, before = null, limit }) {
    await settled()
    const rows = await engine.read(() =>
      all<EventRow>(
        `SELECT * FROM events
         WHERE (CAST($before AS text) IS NULL OR id < $before)
           ${unseenOnly ? 'AND seen_at IS NULL' : ''} ${openOnly ? `AND ${STILL_OPEN}` : ''}
           ${accountId === undefined ? '' : `AND ${account} = $account`}
         ORDER BY id DESC LIMIT $limit`,
        { before, limit, account: accountId },
      ),
    )
    return rows.map(toEvent)
  },
  async find(id) {
    await settled()
    const row = await engine.read(() =>
      get<EventRow>('SELECT * FROM events WHERE id = $id', { id }),
    )
    return row === null ? undefined : toEvent(row)
  },
  async unseen() {
    await settled()
    return await engine.read(() => count('events WHERE seen_at IS NULL'))
  },
})

/** So that a digest stays a mail that can be read. */
const MOST_IN_DIGEST = 100

/** What has waited long enough; and what is held for longer than a day, since when the clock was set back. */
function* findHeld(at: Instant): Statements<readonly StoredEvent[]> {
  const rows = yield* all<EventRow>(
    `SELECT * FROM events WHERE held_until IS NOT NULL AND (held_until <= $at OR held_until > $future)
     ORDER BY id LIMIT ${MOST_IN_DIGEST}`,
    { at, future: later(at, 2 * DAY_MS + LARGE_STEP_MS) },
  )
  return rows.map(toEvent)
}

/** What was held back goes out together. Answers how many. */
function* release(at: Instant, readSettings: ReadSettings): Statements<number> {
  const events = yield* findHeld(at)
  const [only] = events
  if (only === undefined) return 0
  const digest: Sendable =
    events.length === 1
      ? { id: only.id, type: only.cause, body: only.body, at }
      : { ...draftDigest(events, at), type: DIGEST, at }
  const channels = channelsOf(yield* readSettings())
  yield* sendTo(channels, digest)
  const sentAs = channels.length === 0 ? null : digest.id
  for (const { id } of events) {
    yield* run('UPDATE events SET held_until = NULL, sent_as = $sentAs WHERE id = $id', {
      id,
      sentAs,
    })
  }
  return events.length
}
