/** A soak of so many minutes: short lives that end at random instants, then one long life whose growth is judged. */
import { checkAudit, checkBooks } from './books.ts'
import { type Chance, startChance } from './chance.ts'
import { runClient } from './client.ts'
import type { Findings } from './findings.ts'
import { type PrintedKey, type SoakKey, toKey } from './keys.ts'
import { type Life, startLife } from './life.ts'
import { operate } from './operator.ts'
import type { SoakRig } from './rig.ts'
import { readGrowth, renderLife } from './slopes.ts'

export interface SoakWishes {
  readonly seed: number
  readonly clients: number
  readonly minutes: number
}

/** The lives that are cut short share this part of the time. */
const SHORT_SHARE = 0.4
const SHORT_LIFE_MS = { least: 5_000, most: 45_000 }
const CLIENT_PAUSE_MS = 800
const OPERATOR_PAUSE_MS = 1_500
/** So far apart that no seed's client draws as another seed's. */
const SEED_STEP = 1_000_003

/** Common to a soak and a series of kills: clients, an operator, and the lives of the gateway. */
export interface Traffic {
  /** Undefined between two lives; set by `beginLife` and `endLife`. */
  live: Life | undefined
  /** When a life last began or ended. */
  turnedMs: number
  isOver: boolean
  readonly keys: SoakKey[]
  /** Resolves once clients and operator have stopped. */
  readonly settled: Promise<unknown>
}

export async function startTraffic(
  rig: SoakRig,
  findings: Findings,
  { seed, clients, clientPauseMs }: { seed: number; clients: number; clientPauseMs: number },
): Promise<Traffic> {
  const key = await rig.ask<PrintedKey>('keys', 'create', 'wide', '--concurrency', '10000')
  const keys = [toKey(key, true)]
  const traffic: { -readonly [Field in keyof Traffic]: Traffic[Field] } = {
    live: undefined,
    turnedMs: 0,
    isOver: false,
    keys,
    settled: Promise.resolve(),
  }
  const isOver = (): boolean => traffic.isOver
  const chance = (who: number): Chance => startChance(seed * SEED_STEP + who)
  const clientContext = { life: () => traffic.live, keys, findings, pauseMs: clientPauseMs, isOver }
  const isDisturbedSince = (ms: number): boolean =>
    traffic.live === undefined || traffic.live.endedBy !== undefined || traffic.turnedMs >= ms
  const pauseMs = OPERATOR_PAUSE_MS
  const operatorRun = { rig, keys, findings, pauseMs, isOver, isDisturbedSince }
  traffic.settled = Promise.all([
    operate(operatorRun, chance(1)),
    ...Array.from({ length: clients }, (_, n) => runClient(clientContext, chance(2 + n))),
  ])
  return traffic
}

/** From now on it is asked. */
export function beginLife(traffic: Traffic, live: Life): void {
  traffic.turnedMs = performance.now()
  traffic.live = live
}

/** Ends a life, with whatever runs in it. */
export async function endLife(
  traffic: Traffic,
  findings: Findings,
  signal: 'SIGKILL' | 'SIGTERM',
): Promise<void> {
  const { live } = traffic
  if (!live) return
  try {
    // Requests during a drain are refused, and the clients must see that.
    await live.end(signal)
  } catch (cause) {
    findings.violation(String(cause))
  }
  traffic.turnedMs = performance.now()
  traffic.live = undefined
  for (const line of live.complaints) findings.unexplained(`life ${live.number} said: ${line}`)
}

/** Prints a line for every life. */
export async function soak(
  rig: SoakRig,
  findings: Findings,
  { seed, clients, minutes }: SoakWishes,
): Promise<void> {
  const chance = startChance(seed)
  const endMs = performance.now() + minutes * 60_000
  const shortUntilMs = performance.now() + minutes * 60_000 * SHORT_SHARE
  const traffic = await startTraffic(rig, findings, {
    seed,
    clients,
    clientPauseMs: CLIENT_PAUSE_MS,
  })
  for (let number = 1; performance.now() < endMs; number++) {
    const isShort = performance.now() < shortUntilMs
    const live = await startLife(rig, number)
    if (number > 1) await checkBooks(rig, findings, `after life ${number - 1}`)
    beginLife(traffic, live)
    const drawnMs = chance.between(SHORT_LIFE_MS.least, SHORT_LIFE_MS.most)
    const signal = chance.draw() < 0.5 ? 'SIGKILL' : 'SIGTERM'
    await Bun.sleep(isShort ? drawnMs : endMs - performance.now())
    if (!isShort) break
    await endLife(traffic, findings, signal)
    console.log(renderLife(live))
  }
  await rest(rig, findings, traffic)
}

/** The last life: nothing is asked any more, so nothing may be held. */
async function rest(rig: SoakRig, findings: Findings, traffic: Traffic): Promise<void> {
  traffic.isOver = true
  await traffic.settled
  const { live } = traffic
  await checkAudit(rig, findings, 'with nothing in progress')
  await endLife(traffic, findings, 'SIGTERM')
  if (live) {
    console.log(renderLife(live))
    if (readGrowth(live)?.isFlat === false) findings.violation(`life ${live.number} grew`)
  }
  const { charges } = await checkBooks(rig, findings, 'at the end')
  const { code, out } = await rig.type('doctor')
  if (code !== 0) findings.violation(`doctor exited ${code}: ${out}`)
  const isClean = await checkAudit(rig, findings, 'at the end')
  console.log(
    `\nanswered whole ${findings.answers.size}, charges ${charges}, top-ups ${findings.topUps.size}, ` +
      `audit ${isClean ? 'clean' : 'NOT CLEAN'}, upstreams asked ${rig.upstream.asked()}`,
  )
}
