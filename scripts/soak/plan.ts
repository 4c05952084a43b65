/** What a request of the soak wants of its upstream: named in the prompt, so that the request alone says what will happen. */
import type { Chance } from './chance.ts'

export const FAULTS = [
  'cut',
  'mute',
  'freeze',
  'reset',
  'nonsense',
  'uncounted',
  'says-429',
  'says-500',
  'says-503',
] as const

export type PlanKind = 'answer' | (typeof FAULTS)[number]

export interface Plan {
  readonly kind: PlanKind
  /** Of a stream. */
  readonly chunks: number
  /** Between two of them. */
  readonly gapMs: number
  /** The chunk at which a fault shows; 0 is before the first. */
  readonly at: number
}

/** In the last message of the prompt, which every family sends on as it is. */
export const renderPlan = ({ kind, chunks, gapMs, at }: Plan): string =>
  `plan:${kind}:${chunks}:${gapMs}:${at}:`

/** Finds the plan in the bytes of whatever a family made of the prompt; without one it is a plain answer. */
export function readPlan(request: string): Plan {
  const [, kind, chunks, gapMs, at] = /plan:([a-z0-9-]+):(\d+):(\d+):(\d+):/.exec(request) ?? []
  return {
    kind: (kind ?? 'answer') as PlanKind,
    chunks: Number(chunks ?? 5),
    gapMs: Number(gapMs ?? 0),
    at: Number(at ?? 0),
  }
}

/** Three of four are plain answers, of very different lengths. */
export function drawPlan(chance: Chance): Plan {
  const chunks = 1 + Math.min(200, Math.floor(chance.exponential(20)))
  const fault = FAULTS[chance.pick(FAULTS.length)] ?? 'cut'
  return {
    kind: chance.draw() < 0.75 ? 'answer' : fault,
    chunks,
    gapMs: chance.pick(40),
    at: chance.pick(chunks + 1),
  }
}
