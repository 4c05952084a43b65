/** What operators see and end of all nodes that share a store: of this one from its memory, of the others what the store knows. */
import type { ActivityEntry } from '#domain/activity.ts'
import { type Clock, type Instant, MINUTE_MS, pause } from '#domain/clock.ts'
import type { GenerationId } from '#domain/id.ts'
import type { Keys } from '#domain/key.ts'
import type { Held, NodeRecord, Nodes } from '#domain/node.ts'
import { FIGURES_MS } from '#domain/snapshot/figures.ts'
import type { InFlight } from '#domain/snapshot/in-flight.ts'
import { Pulse } from '#domain/snapshot/pulse.ts'
import type { Watch } from '#domain/snapshot/watch.ts'
import { createCachedPart } from '#operator/snapshot/cached-part.ts'
import type { Serving } from './serving.ts'

export interface WatchNodesOptions {
  readonly nodes: Nodes
  readonly keys: Keys
  readonly clock: Clock
  /** This node; null for a machine that is none. */
  readonly here: { readonly node: string; readonly serving: Serving } | null
}

/** The store is read at most so often, and only while somebody looks. */
const READ_MS = 250
/** And for no more of the time, which is mostly the store's. */
const MAX_SHARE = 1 / 5
/** Of more at once, the oldest are shown. */
const MOST_HELD = 5_000
/** Of one reading; of more, the latest. */
const MOST_ENDED = 1_000
/** A line is in the store so soon after its request has ended, which has arrived so short a time before, or was seen in progress. */
const LATE_MS = 2_000
const ARRIVED_MS = 3_000
/** So often it is looked for those that were later, or were refused after a long wait. */
const LOOK_BACK_MS = 10_000
const VERY_LATE_MS = 10_000
const ARRIVED_LONG_AGO_MS = MINUTE_MS
/** A node hears of it within a second, and ends it. */
const KILL_MS = 5_000
const KILL_POLL_MS = 100

export function watchNodes({ nodes, keys, clock, here }: WatchNodesOptions): Watch {
  const pulse = new Pulse()
  const noteEnded = prepareEnded(nodes, pulse)
  let list: readonly NodeRecord[] = []
  let others: readonly InFlight[] = []
  const reading = createCachedPart(
    clock,
    READ_MS,
    async () => {
      const at = clock.now()
      const [known, held] = await Promise.all([nodes.list(), nodes.held(MOST_HELD)])
      await noteEnded(held, at)
      list = known
      others = await toInFlight(
        held.filter(({ node }) => node !== here?.node),
        keys,
      )
    },
    MAX_SHARE,
  )
  const nodesNow = (): readonly NodeRecord[] =>
    list.map((one) => (one.name === here?.node ? { ...one, in_flight: here.serving.count() } : one))
  const count = (): number => nodesNow().reduce((sum, { in_flight }) => sum + in_flight, 0)
  let highest = 0
  return {
    pulse,
    async look() {
      await here?.serving.look()
      await reading.read()
      highest = Math.max(highest, count())
    },
    nodes: nodesNow,
    inFlight(most) {
      const own = here?.serving.inFlight(most).map((one) => ({ ...one, node: here.node })) ?? []
      return [...own, ...others].toSorted((a, b) => a.arrivedAt - b.arrivedAt).slice(0, most)
    },
    count,
    // Of all together, as often as somebody looked; of this one at least its own.
    peak: () => Math.max(highest, here?.serving.peak() ?? 0),
    draining: () => here?.serving.draining() ?? false,
    async kill(id) {
      const killed = await here?.serving.kill(id)
      if (killed) return killed
      if (!(await nodes.kill(id, clock.now()))) return undefined
      const untilMs = clock.monotonicMs() + KILL_MS
      while (clock.monotonicMs() < untilMs) {
        if (!(await nodes.isHeld(id))) return { ended: true }
        await pause(KILL_POLL_MS)
      }
      return { ended: false }
    },
  }
}

/** Notes what has ended since the reading before, each once; at first, and after a while without a reading, of the last minutes. */
function prepareEnded(nodes: Nodes, pulse: Watch['pulse']) {
  const known = new Map<GenerationId, number>()
  let running: ReadonlySet<GenerationId> = new Set()
  let readTo = Number.NEGATIVE_INFINITY
  let lookedBack = Number.NEGATIVE_INFINITY
  let newest = 0

  /** Since when they have ended, and arrived; and whether it is looked for those that were later. */
  const rangeAt = (at: Instant): readonly [ended: number, arrived: number, looksBack: boolean] => {
    if (readTo < at - FIGURES_MS) {
      pulse.endings.beginAt(at - FIGURES_MS)
      return [at - FIGURES_MS, at - FIGURES_MS, true]
    }
    if (lookedBack > at - LOOK_BACK_MS) {
      return [readTo - LATE_MS, readTo - LATE_MS - ARRIVED_MS, false]
    }
    return [lookedBack - VERY_LATE_MS, lookedBack - VERY_LATE_MS - ARRIVED_LONG_AGO_MS, true]
  }
  return async (held: readonly Held[], at: Instant): Promise<void> => {
    const now = new Set(held.map(({ generationId }) => generationId))
    const [ended, arrived, looksBack] = rangeAt(at)
    const lines = await nodes.ended({
      endedSince: ended as Instant,
      arrivedSince: arrived as Instant,
      of: [...running].filter((id) => !now.has(id)),
      known,
      most: MOST_ENDED,
    })
    const [oldest] = lines
    if (oldest && lines.length === MOST_ENDED) pulse.endings.beginAt(endOf(oldest))
    for (const line of lines) {
      known.set(line.generationId, endOf(line))
      newest = Math.max(newest, endOf(line))
      pulse.note(line, newest as Instant)
    }
    running = now
    if (looksBack) lookedBack = at
    readTo = at
    for (const [id, endedAt] of known) {
      if (endedAt <= lookedBack - VERY_LATE_MS) known.delete(id)
    }
  }
}

const endOf = ({ startedAt, totalMs }: ActivityEntry): number => startedAt + totalMs

async function toInFlight(held: readonly Held[], keys: Keys): Promise<readonly InFlight[]> {
  if (held.length === 0) return []
  const found = await keys.findMany([...new Set(held.map(({ keyId }) => keyId))])
  const byId = new Map(found.map((key) => [key.id, key]))
  return held.flatMap(({ keyId, admittedAt, ...one }) => {
    const key = byId.get(keyId)
    return key === undefined ? [] : { ...one, ...ELSEWHERE, key, arrivedAt: admittedAt }
  })
}

const ELSEWHERE = {
  provider: null,
  stream: null,
  state: 'elsewhere',
  firstEventMs: null,
  promptTokens: null,
  outputTokens: null,
  cost: null,
  failedAttempts: null,
} as const
