/** One scenario: a key that exceeds its limits on several nodes, during a failure. */
import { startTimeline } from './events.ts'
import { type Claim, type Figures, type Limits, startObserver } from './observer.ts'
import type { Policy, Setting, Verdict } from './policy.ts'
import { startChance } from './random.ts'

export interface Scenario {
  readonly name: string
  readonly limits: Limits
  readonly requestsPerSecond: number
  readonly seconds: number
  /** When it goes wrong, while requests are being admitted. */
  readonly troubleAtSeconds: number
  readonly trouble: 'none' | 'failover' | 'node-lost'
}

export interface ScenarioResult extends Figures {
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

export function runScenario(
  { limits, requestsPerSecond, seconds, trouble, troubleAtSeconds }: Scenario,
  open: (setting: Setting) => Policy,
  { nodes, seed }: { readonly nodes: number; readonly seed: number },
): ScenarioResult {
  const timeline = startTimeline()
  const chance = startChance(seed)
  const observer = startObserver(limits)
  const setting: Setting = { timeline, chance, limits, nodes, roundTripMs: [0.2, 0.8] }
  const policy = open(setting)
  const waitedMs: number[] = []
  let unavailable = 0

  const conclude = (claim: Claim, askedMs: number, verdict: Verdict): void => {
    waitedMs.push(timeline.nowMs - askedMs)
    if (verdict === 'unavailable') unavailable++
    else if (verdict === 'refused') observer.refused(claim, timeline.nowMs)
    else {
      observer.admitted(claim, timeline.nowMs)
      timeline.after(claim.lastsMs, () => {
        policy.settle(claim)
        observer.settled(claim)
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
  const failureMs = troubleAtSeconds * 1_000
  if (trouble === 'failover') timeline.after(failureMs, () => policy.failOver(OUTAGE_MS, LAG_MS))
  if (trouble === 'node-lost') timeline.after(failureMs, () => policy.loseNode(0))
  timeline.run(seconds * 1_000)

  waitedMs.sort((a, b) => a - b)
  const at = (share: number): number => waitedMs[Math.floor(waitedMs.length * share)] ?? 0
  return { ...observer.figures, unavailable, p50Ms: at(0.5), p99Ms: at(0.99) }
}
