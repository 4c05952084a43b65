/** Reads a key's sliding windows back from the log, so that they survive a restart and a change of limits. */
import { type Instant, later, MINUTE_MS } from '#domain/clock.ts'
import { type AccountId, type GenerationId, generationsFrom, type KeyId } from '#domain/id.ts'
import { Window } from '#domain/window.ts'
import { nextTurn } from '#runtime/next-turn.ts'
import type { Connection } from '../engine/connection.ts'
import { SLICE_ROWS } from '../engine/slices.ts'
import { statement } from '../engine/statement.ts'
import type { LoggedTokens, WindowSource } from './hot-use.ts'
import type { WindowSlots } from './window-slots.ts'

/**
 * Of a window the newest `limit` requests of the span are read, which are all that decide when a slot frees. Nobody may be admitted
 * to it before it is there. Requests that lie more than a span ahead were made before the clock was set back; no window contains them.
 */
export interface WindowReader {
  ofKey(id: KeyId): WindowSource
  ofAccount(id: AccountId): WindowSource
  /** The requests of each end user in the span, by the name that they came with. */
  readByEndUser(id: KeyId, spanMs: number, now: Instant): Promise<ReadonlyMap<string, Window>>
  /** How many requests were admitted in the span. */
  count(id: KeyId, spanMs: number, now: Instant): Promise<number>
}

/** Instants after `after` and before `before`. */
type Span = { readonly id: KeyId; readonly after: number; readonly before: number }

/** What has ended: in the table of slots, or in the log behind its end. */
const logged = (columns: string, slots: string): string => `
  SELECT ${columns} FROM ${slots} WHERE slot.key_id = $id AND slot.admitted_at > $after AND slot.admitted_at < $before
  UNION ALL
  SELECT ${columns} FROM activity AS slot
  WHERE slot.generation_id >= (SELECT below FROM window_slots_end)
    AND slot.key_id = $id AND slot.admitted = 1 AND slot.admitted_at > $after AND slot.admitted_at < $before`

/** A request is in one of the tables, and goes from the one to the other when it ends; its instant stays. */
const ADMITTED = `${logged('slot.admitted_at', 'window_slots AS slot')}
  UNION ALL
  SELECT admitted_at FROM holds WHERE key_id = $id AND admitted_at > $after AND admitted_at < $before`

const ADMITTED_BY_NAME = `
  SELECT name, at FROM (${logged(
    'end_user AS name, slot.admitted_at AS at',
    'window_slots AS slot JOIN activity USING (generation_id)',
  )}
  UNION ALL
  SELECT end_user, admitted_at FROM holds WHERE key_id = $id AND admitted_at > $after AND admitted_at < $before)
  WHERE name IS NOT NULL`

export function prepareWindowReader(connection: Connection, slots: WindowSlots): WindowReader {
  const { database, commit } = connection
  const scanBack = prepareBackwardScan(connection, slots)
  const newest = statement<{ admitted_at: Instant }, [Span]>(
    database,
    `SELECT admitted_at FROM (${ADMITTED}) ORDER BY admitted_at DESC`,
  )
  const named = statement<{ name: string; at: Instant }, [Span]>(
    database,
    `${ADMITTED_BY_NAME} ORDER BY at DESC`,
  )
  const weighed = statement<LoggedTokens, [Span]>(
    database,
    `SELECT id, at, weight FROM (${logged(
      `slot.generation_id AS id, slot.admitted_at AS at, ${TOKENS} AS weight`,
      'window_slots AS slot JOIN activity USING (generation_id)',
    )}) ORDER BY at DESC`,
  )
  const count = statement<{ requests: number }, [Span]>(
    database,
    `SELECT count(*) AS requests FROM (${ADMITTED})`,
  )
  const oldest = statement<{ admitted_at: Instant }, [Span]>(
    database,
    `SELECT admitted_at FROM (${ADMITTED}) ORDER BY admitted_at LIMIT 1`,
  )
  const ofKey = (id: KeyId): WindowSource => ({
    async read(spanMs, limit, now) {
      if (limit === null) return null
      const found: Instant[] = []
      await scanBack(around(id, now, spanMs), Math.min(limit, SLICE_ROWS), (span) => {
        for (const row of newest().all(span)) found.push(row.admitted_at)
        return found.length >= limit
      })
      const window = new Window(spanMs)
      window.restore(found.slice(0, limit).reverse(), now)
      return window
    },
    async readTokens(now) {
      const found: LoggedTokens[] = []
      await scanBack(around(id, now, MINUTE_MS), SLICE_ROWS, (span) => {
        found.push(...weighed().all(span))
        return false
      })
      return found
    },
    async firstAhead(spanMs, now) {
      commit.flush()
      const after = later(now, spanMs - 1)
      return oldest().get({ id, after, before: Number.MAX_SAFE_INTEGER })?.admitted_at ?? null
    },
  })
  return {
    ofKey,
    ofAccount: prepareAccountSource(connection),
    async readByEndUser(id, spanMs, now) {
      const found: { readonly name: string; readonly at: Instant }[] = []
      await scanBack(around(id, now, spanMs), SLICE_ROWS, (span) => {
        for (const row of named().all(span)) found.push(row)
        return false
      })
      const windows = new Map<string, Window>()
      for (const { name, at } of found.reverse()) {
        const window = windows.get(name) ?? new Window(spanMs)
        window.restore([at], now)
        windows.set(name, window)
      }
      return windows
    },
    async count(id, spanMs, now) {
      let requests = 0
      await scanBack(around(id, now, spanMs), SLICE_ROWS, (span) => {
        requests += count().get(span)?.requests ?? 0
        return false
      })
      return requests
    },
  }
}

/** From its arrival to its admission a request waits no longer, unless the clock is set. */
const LONGEST_WAIT_MS = 600_000
/** Behind every id. */
const NO_GENERATION = 'gen-~' as GenerationId

/** Lines of the log from one id on and below another. */
type Lines = { readonly from: GenerationId; readonly below: GenerationId }

const inSpan = `
  WHERE generation_id >= $from AND generation_id < $below AND account_id = $id
    AND admitted_at > $after AND admitted_at < $before`
const admittedOf = (table: string): string => `SELECT admitted_at FROM ${table} ${inSpan}`

/** Of a line of the log, all that were counted. */
const TOKENS = `input_tokens + cache_read_tokens + cache_write_tokens + cache_write_1h_tokens + image_input_tokens
  + output_tokens + image_output_tokens`

/**
 * An account may have a hundred thousand keys, and no index has its slots: the whole log of the span is read, in slices of lines.
 * A request stands in the log under the id that its hold had.
 */
function prepareAccountSource({ database, commit }: Connection): (id: AccountId) => WindowSource {
  type Span = Lines & { readonly id: AccountId; readonly after: number; readonly before: number }
  const cut = statement<{ id: GenerationId }, [Lines & { rows: number }]>(
    database,
    `SELECT generation_id AS id FROM activity WHERE generation_id >= $from AND generation_id < $below
     ORDER BY generation_id DESC LIMIT 1 OFFSET $rows - 1`,
  )
  const admitted = `${admittedOf('activity')} AND admitted = 1 UNION ALL ${admittedOf('holds')}`
  const slice = statement<{ admitted_at: Instant }, [Span]>(database, admitted)
  const first = statement<{ admitted_at: Instant | null }, [Span]>(
    database,
    `SELECT min(admitted_at) AS admitted_at FROM (${admitted})`,
  )
  const weighed = statement<LoggedTokens, [Span]>(
    database,
    `SELECT generation_id AS id, admitted_at AS at, ${TOKENS} AS weight FROM activity ${inSpan} AND admitted = 1`,
  )
  /** Shows the lines after an instant and before another, the newest first, in slices and a turn for each but the first. */
  const scan = async (
    id: AccountId,
    { after, before }: { readonly after: Instant; readonly before: number },
    visit: (span: Span) => void,
  ): Promise<void> => {
    const from = generationsFrom(later(after, -LONGEST_WAIT_MS))
    let below = NO_GENERATION
    for (;;) {
      commit.flush()
      const last = cut().get({ from, below, rows: SLICE_ROWS })?.id ?? from
      visit({ id, from: last, below, after, before })
      if (last === from) return
      below = last
      await nextTurn()
    }
  }
  return (id) => ({
    async read(spanMs, limit, now) {
      if (limit === null) return null
      const found: Instant[] = []
      await scan(id, spanAround(now, spanMs), (span) => {
        for (const row of slice().all(span)) found.push(row.admitted_at)
      })
      const window = new Window(spanMs)
      window.restore(found.sort((a, b) => a - b).slice(-limit), now)
      return window
    },
    async readTokens(now) {
      const found: LoggedTokens[] = []
      await scan(id, spanAround(now, MINUTE_MS), (span) => {
        found.push(...weighed().all(span))
      })
      return found
    },
    async firstAhead(spanMs, now) {
      const ahead = { after: later(now, spanMs - 1), before: Number.MAX_SAFE_INTEGER }
      let found: Instant | null = null
      await scan(id, ahead, (span) => {
        const one = first().get(span)?.admitted_at ?? null
        if (one !== null && (found === null || one < found)) found = one
      })
      return found
    },
  })
}

const spanAround = (now: Instant, spanMs: number) => ({
  after: later(now, -spanMs),
  before: later(now, spanMs),
})

const around = (id: KeyId, now: Instant, spanMs: number): Span => ({
  id,
  ...spanAround(now, spanMs),
})

/** Reads one slice of a key's log, in the turn that cut it; true when that is enough. */
type VisitSpan = (span: Span) => boolean

/**
 * Shows a span of a key's log, the newest first, in slices of `rows` slots and a turn for each but the first; the few
 * lines that have no slot yet come on top. Requests of one instant are never in two of them.
 */
function prepareBackwardScan({ database, commit }: Connection, slots: WindowSlots) {
  const cut = statement<{ admitted_at: Instant }, [Span & { rows: number }]>(
    database,
    `SELECT admitted_at FROM window_slots
     WHERE key_id = $id AND admitted_at > $after AND admitted_at < $before
     ORDER BY admitted_at DESC LIMIT 1 OFFSET $rows - 1`,
  )
  return async (whole: Span, rows: number, visit: VisitSpan): Promise<void> => {
    await slots.catchUp()
    const { id, after } = whole
    let { before } = whole
    for (;;) {
      commit.flush()
      const last = cut().get({ id, after, before, rows })
      const isEnough = visit({ id, after: last ? last.admitted_at - 1 : after, before })
      if (!last || isEnough) return
      before = last.admitted_at
      await nextTurn()
    }
  }
}
