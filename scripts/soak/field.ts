/** What a round of nodes has to do with, and how it asks them. */
import type { Findings } from './findings.ts'
import type { SoakNode } from './node.ts'
import type { Pair } from './pair.ts'
import { type Plan, renderPlan } from './plan.ts'
import type { SoakRig } from './rig.ts'

export interface Field {
  readonly rig: SoakRig
  readonly pair: Pair
  readonly findings: Findings
  readonly nodes: readonly SoakNode[]
  readonly victim: SoakNode
  /** One that nothing happens to. */
  readonly other: SoakNode
}

export const QUICK: Plan = { kind: 'answer', chunks: 2, gapMs: 5, at: 0 }

export const post = (node: SoakNode, secret: string, plan: Plan, more = {}): Promise<Response> =>
  fetch(`${node.life.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ model: 'openai/m', max_tokens: 60, ...more },
      messages: [{ role: 'user', content: renderPlan(plan) }],
    }),
  })
