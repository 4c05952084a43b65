/** The operator of the soak: runs one command after the other, also while the gateway is killed. */
import type { Chance } from './chance.ts'
import type { Findings } from './findings.ts'
import { type PrintedKey, type SoakKey, toKey } from './keys.ts'
import type { Ended, SoakRig } from './rig.ts'

export interface OperatorRun {
  readonly rig: SoakRig
  readonly keys: SoakKey[]
  readonly findings: Findings
  readonly pauseMs: number
  readonly isOver: () => boolean
  /** Whether a life ended, or none was there, since then. */
  readonly isDisturbedSince: (ms: number) => boolean
}

type Act = (operatorRun: OperatorRun, chance: Chance, number: number) => Promise<void>

const MAX_KEYS = 40

/** By how often each is typed, out of their sum. */
const ACTS: readonly (readonly [weight: number, act: Act])[] = [
  [3, create],
  [3, edit],
  [3, rotate],
  [2, revoke],
  [4, setLimits],
  [6, topUp],
  [1, (operatorRun) => read(operatorRun, 'audit')],
  [1, (operatorRun) => look(operatorRun)],
  [1, (operatorRun) => read(operatorRun, 'activity', 'list', '--limit', '100')],
  [1, (operatorRun) => backUp(operatorRun)],
]
const URN: readonly Act[] = ACTS.flatMap(([weight, act]) => Array<Act>(weight).fill(act))

/** Types until it is over; the commands are the same whenever the chance is. */
export async function operate(operatorRun: OperatorRun, chance: Chance): Promise<void> {
  for (let number = 0; !operatorRun.isOver(); number++) {
    await Bun.sleep(chance.exponential(operatorRun.pauseMs))
    const act = URN[chance.pick(URN.length)] ?? topUp
    await act(operatorRun, chance, number)
  }
}

/** Types one command; undefined when it failed, which only the end of a life explains. */
async function type(
  operatorRun: OperatorRun,
  ...args: readonly string[]
): Promise<Ended | undefined> {
  const { rig, findings, isDisturbedSince } = operatorRun
  const begin = performance.now()
  const ended = await rig.type(...args, '--json', '--yes')
  if (ended.code === 0) {
    findings.count(
      `${args
        .slice(0, 2)
        .join(' ')
        .replace(/ -.*| \/.*/, '')} typed`,
    )
    return ended
  }
  if (isDisturbedSince(begin)) findings.count('commands broken by an end of a life')
  else findings.unexplained(`gatewayctl ${args.join(' ')} exited ${ended.code}: ${ended.err}`)
  return undefined
}

const drawLimits = (chance: Chance): readonly string[] => [
  '--rpm',
  chance.draw() < 0.5 ? String(1 + chance.pick(60)) : 'none',
  '--concurrency',
  chance.draw() < 0.5 ? String(1 + chance.pick(4)) : 'none',
  '--daily-usd',
  chance.draw() < 0.5 ? (0.001 * (1 + chance.pick(200))).toFixed(3) : 'none',
]

async function create(operatorRun: OperatorRun, chance: Chance, number: number): Promise<void> {
  const limits = drawLimits(chance)
  if (operatorRun.keys.length >= MAX_KEYS) return
  const ended = await type(operatorRun, 'keys', 'create', `soak-${number}`, ...limits)
  if (ended) operatorRun.keys.push(toKey(JSON.parse(ended.out) as PrintedKey, false))
}

/** One of those that may be changed: the first is never touched. */
const drawKey = ({ keys }: OperatorRun, chance: Chance): SoakKey | undefined => {
  const place = 1 + chance.pick(MAX_KEYS)
  return keys[place]?.revokedMs === null ? keys[place] : undefined
}

async function edit(operatorRun: OperatorRun, chance: Chance): Promise<void> {
  const key = drawKey(operatorRun, chance)
  const change = chance.draw() < 0.5 ? '--enable' : '--disable'
  if (!key) return
  key.isTouched = true
  await type(operatorRun, 'keys', 'edit', key.id, change)
}

async function rotate(operatorRun: OperatorRun, chance: Chance): Promise<void> {
  const key = drawKey(operatorRun, chance)
  const grace = chance.draw() < 0.5 ? '0' : '24h'
  if (!key) return
  key.isTouched = true
  const ended = await type(operatorRun, 'keys', 'rotate', key.id, '--grace', grace)
  if (ended) key.secret = (JSON.parse(ended.out) as PrintedKey).key
}

async function revoke(operatorRun: OperatorRun, chance: Chance): Promise<void> {
  const key = drawKey(operatorRun, chance)
  if (!key) return
  key.isTouched = true
  if (await type(operatorRun, 'keys', 'revoke', key.id)) key.revokedMs = performance.now()
}

async function setLimits(operatorRun: OperatorRun, chance: Chance): Promise<void> {
  const key = drawKey(operatorRun, chance)
  const limits = drawLimits(chance)
  if (key) await type(operatorRun, 'limits', 'set', key.id, ...limits)
}

async function topUp(operatorRun: OperatorRun, _chance: Chance, number: number): Promise<void> {
  const ref = `SOAK-${number}`
  if (await type(operatorRun, 'balance', 'top-up', '0.01', '--ref', ref))
    operatorRun.findings.toppedUp(ref)
}

const hasNodes = ({ rig }: OperatorRun): boolean => rig.env['GATEWAY_STORE'] !== undefined

/** Nodes are elsewhere, and their store is backed up by its own means. */
const look = (operatorRun: OperatorRun): Promise<void> =>
  hasNodes(operatorRun) ? read(operatorRun, 'nodes', 'list') : read(operatorRun, 'status')
const backUp = (operatorRun: OperatorRun): Promise<void> =>
  hasNodes(operatorRun)
    ? read(operatorRun, 'store', 'status')
    : read(operatorRun, 'backup', `${operatorRun.rig.backups}/`, '--keep', '2')

const read = async (operatorRun: OperatorRun, ...args: readonly string[]): Promise<void> => {
  await type(operatorRun, ...args)
}
