/** Verbs to export, plan and apply a configuration file: compares the desired with the current state and executes the difference. */
import { createHash } from 'node:crypto'
import * as z from 'zod/mini'
import { GatewayError } from '#domain/errors.ts'
import { credentialField } from '../credential.ts'
import type { OperatorDeps } from '../deps.ts'
import { invalidInput, verb } from '../verb.ts'
import { readCurrent } from './current.ts'
import { readDesired, sectionsOf } from './desired.ts'
import { type GatewayDocument, type GatewayFile, gatewayDocument } from './document.ts'
import type { Entity } from './entity.ts'
import { credentialRef, executePlan, type PlanResult } from './execute-plan.ts'
import { planSteps, requireReferences, type Step } from './plan.ts'
import { writeDocument } from './write-document.ts'

export interface PlanRecord {
  readonly steps: readonly Step[]
  /** A digest of the steps; `apply` requires it, so that only the confirmed plan is executed. */
  readonly plan: string
  /** The environment variables with the credentials that the steps need; one of several is `openai/eu`. */
  readonly credentials: readonly { readonly provider: string; readonly from_env: string }[]
}

export interface AppliedRecord extends PlanRecord, PlanResult {}

const planFields = {
  document: gatewayDocument,
  prune: z._default(z.boolean(), false),
}

/** The current state as a file, without secrets. */
export const exportDocument = verb(
  z.strictObject({}),
  async (deps): Promise<GatewayFile> => writeDocument(await readCurrent(deps)),
)

/** The plan for a file; changes nothing. @throws invalid_request */
export const planDocument = verb(
  z.strictObject(planFields),
  async (deps, input): Promise<PlanRecord> => (await prepare(deps, input)).record,
)

/** Executes the plan if it is still the confirmed one. @throws invalid_request */
export const applyDocument = verb(
  z.strictObject({
    ...planFields,
    plan: z.string(),
    /** By provider name; one of several by that and its own, `openai/eu`. */
    credentials: z._default(z.record(z.string(), credentialField), {}),
  }),
  async (deps, { plan, credentials, ...input }): Promise<AppliedRecord> => {
    const { record, desired, current } = await prepare(deps, input)
    if (record.plan !== plan) {
      throw new GatewayError('invalid_request', 'something was changed since this was planned', {
        hint: 'apply again, and look at the new plan',
      })
    }
    const missing = record.credentials.find(({ provider }) => credentials[provider] === undefined)
    if (missing) throw invalidInput('credentials', `none was sent for provider ${missing.provider}`)
    return { ...record, ...(await executePlan(deps, record.steps, desired, current, credentials)) }
  },
)

interface Prepared {
  readonly record: PlanRecord
  readonly desired: readonly Entity[]
  readonly current: readonly Entity[]
}

async function prepare(
  deps: OperatorDeps,
  { document, prune }: { readonly document: GatewayDocument; readonly prune: boolean },
): Promise<Prepared> {
  const current = await readCurrent(deps)
  const desired = await readDesired(deps, document, current)
  const steps = planSteps({ entities: desired, sections: sectionsOf(document), prune }, current)
  requireReferences(steps, desired, current)
  const plan = createHash('sha256').update(JSON.stringify(steps)).digest('hex').slice(0, 16)
  return { record: { steps, plan, credentials: credentialsFor(steps, document) }, desired, current }
}

/** Any added or changed provider needs its credential again: it must not be sent to a new address without the operator's consent. */
function credentialsFor(
  steps: readonly Step[],
  { providers = [] }: GatewayDocument,
): PlanRecord['credentials'] {
  return providers.flatMap(({ name, from_env, credentials = [] }) => {
    const touched = steps.some(
      (step) => step.kind === 'provider' && step.op !== 'remove' && step.name === name,
    )
    if (!touched) return []
    if (from_env !== undefined) return [{ provider: name, from_env }]
    return credentials.map((one) => ({
      provider: credentialRef(name, one.name),
      from_env: one.from_env,
    }))
  })
}
