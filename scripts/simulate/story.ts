/** One story: a key that wants more than it may, through several nodes, while something goes wrong. */
import { startTimeline } from './events.ts'
import type { Policy, Setting, Verdict } from './policies.ts'
import { startChance } from './random.ts'
import { type Claim, type Figures, type Limits, startTruth } from './truth.ts'

export interface Story {
  readonly name: string
  readonly limits: Limits
  readonly requestsPerSecond: number
  readonly seconds: number
  /** When it goes wrong, while requests are being admitted. */
  readonly troubleAtSeconds: number
  readonly trouble: 'none' | 'failover' | 'node-lost'
}

export interface Told extends Figures {
  /** Neither admitted nor refused: the shared store was away. */
  readonly unavailable: number
  /** How long a verdict took. */
  readonly p50Ms: number
  readonly p99Ms: number
}

const HOLD_MICROS = 20_000
const MEAN_COST_MICROS = 8_000
const MEAN_LASTS_MS = 2_000
/** How far a second machine is behind the first, and how long nobody answers when it takes over. */
const LAG_MS = 40
const OUTAGE_MS = 3_000

export function tell(
  { limits, requestsPerSecond, seconds, trouble, troubleAtSeconds }: Story,
  open: (setting: Setting) => Policy,
  { nodes, seed }: { readonly nodes: number; readonly seed: number },
): Told {
  const timeline = startTimeline()
  const chance = startChance(seed)
  const truth = startTruth(limits)
  const setting: Setting = { timeline, chance, limits, nodes, roundTripMs: [0.2, 0.8] }
  const policy = open(setting)
  const waitedMs: number[] = []
  let unavailable = 0

  const conclude = (claim: Claim, askedMs: number, verdict: Verdict): void => {
    waitedMs.push(timeline.nowMs - askedMs)
    if (verdict === 'unavailable') unavailable++
    else if (verdict === 'refused') truth.refused(claim, timeline.nowMs)
    else {
      truth.admitted(claim, timeline.nowMs)
      timeline.after(claim.lastsMs, () => {
        policy.settle(claim)
        truth.settled(claim)
      })
    }
  }

  const arrive = (): void => {
    const claim: Claim = {
      node: chance.pick(nodes),
      holdMicros: HOLD_MICROS,
      costMicros: Math.min(HOLD_MICROS, Math.ceil(chance.exponential(MEAN_COST_MICROS))),
      lastsMs: chance.exponential(MEAN_LASTS_MS),
    }
    const askedMs = timeline.nowMs
    policy.admit(claim, (verdict) => conclude(claim, askedMs, verdict))
    timeline.after(chance.exponential(1_000 / requestsPerSecond), arrive)
  }

  arrive()
  const troubleMs = troubleAtSeconds * 1_000
  if (trouble === 'failover') timeline.after(troubleMs, () => policy.failOver(OUTAGE_MS, LAG_MS))
  if (trouble === 'node-lost') timeline.after(troubleMs, () => policy.loseNode(0))
  timeline.run(seconds * 1_000)

  waitedMs.sort((a, b) => a - b)
  const at = (share: number): number => waitedMs[Math.floor(waitedMs.length * share)] ?? 0
  return { ...truth.figures, unavailable, p50Ms: at(0.5), p99Ms: at(0.99) }
}
