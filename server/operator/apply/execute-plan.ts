/** Executes a plan step by step, recording each step as the act of the equivalent command; stops at the first failure. */
import { type Act, draftAct } from '#domain/act.ts'
import { untilCurrent } from '#domain/catalogue.ts'
import { GatewayError, toGatewayError } from '#domain/errors.ts'
import type { KeyId } from '#domain/id.ts'
import { limitNamed } from '#domain/limits.ts'
import { ownRoute } from '#domain/model-card.ts'
import { DEFAULT_NOTICE_SETTINGS } from '#domain/notice-settings.ts'
import {
  type Credential,
  DEFAULT_CREDENTIAL,
  type OutputBound,
  type ProviderType,
  type StatedCredential,
} from '#domain/provider.ts'
import type { Route } from '#domain/route.ts'
import { emailKey } from '#signin/register/email.ts'
import { createAccount, editAccount, setAccountLimits } from '../accounts.ts'
import { createClient, editClient, removeClient } from '../clients.ts'
import { checkCredential } from '../credential.ts'
import type { OperatorDeps } from '../deps.ts'
import { editKey } from '../edit-key.ts'
import { addToGroup, removeFromGroup } from '../groups.ts'
import type { HopRecord } from '../hop-record.ts'
import { createKey, revokeKey } from '../keys.ts'
import { setLimits } from '../limits.ts'
import { addMember, removeMember } from '../members.ts'
import { aliasModel, removeModel, unaliasModel } from '../models.ts'
import { setNotices } from '../notice-settings.ts'
import { findProvider, removeProvider } from '../providers.ts'
import { setRate } from '../rates.ts'
import { resetRoute } from '../routes.ts'
import { setThreshold } from '../thresholds.ts'
import { perform } from '../verb.ts'
import { changedFacts, type Entity, type Fields, isCardField, isPriceField } from './entity.ts'
import { byRef, type Changes, entityRef, type Step } from './plan.ts'

/** A secret that is shown once. */
export interface IssuedSecret {
  readonly kind: 'key' | 'client' | 'webhook'
  /** `default/prod-web`, the name of a client, or the account of a webhook. */
  readonly name: string
  readonly id: string | null
  readonly secret: string
}

export interface PlanResult {
  /** The number of completed steps; the rest was not attempted. */
  readonly done: number
  readonly secrets: readonly IssuedSecret[]
  readonly warnings: readonly string[]
  readonly failure: { readonly step: Step; readonly code: string; readonly message: string } | null
}

interface PlanContext {
  readonly deps: OperatorDeps
  readonly desired: ReadonlyMap<string, Entity>
  readonly current: ReadonlyMap<string, Entity>
  readonly credentials: Readonly<Record<string, string>>
  readonly secrets: IssuedSecret[]
  readonly warnings: string[]
}

/** A failing step is returned, not thrown, so that the caller gets the secrets created so far. */
export async function executePlan(
  deps: OperatorDeps,
  steps: readonly Step[],
  desired: readonly Entity[],
  current: readonly Entity[],
  credentials: Readonly<Record<string, string>>,
): Promise<PlanResult> {
  const secrets: IssuedSecret[] = []
  const warnings: string[] = []
  const [named, known] = [byRef(desired), byRef(current)]
  const context = { deps, desired: named, current: known, credentials, secrets, warnings }
  for (const [done, step] of steps.entries()) {
    try {
      await executeStep(context, step)
    } catch (thrown) {
      const { code, message } = toGatewayError(thrown)
      return { done, secrets, warnings, failure: { step, code, message } }
    }
  }
  return { done: steps.length, secrets, warnings, failure: null }
}

const executeStep = (context: PlanContext, step: Step): Promise<void> => {
  switch (step.kind) {
    case 'rate':
      return applyRate(context, step)
    case 'notices':
      return applyNotices(context, step)
    case 'account':
      return applyAccount(context, step)
    case 'member':
      return applyMember(context, step)
    case 'provider':
      return applyProvider(context, step)
    case 'model':
      return applyModel(context, step)
    case 'route':
      return applyRoute(context, step)
    case 'alias':
      return applyAlias(context, step)
    case 'key':
      return applyKey(context, step)
    case 'client':
      return applyClient(context, step)
    case 'group':
      return applyGroup(context, step)
  }
}

async function applyRate({ deps, desired }: PlanContext, step: Step): Promise<void> {
  const { rub_per_usd } = fieldsOf(desired, step)
  await perform(setRate, deps, { pair: 'USD/RUB', rub_per_usd })
}

async function applyNotices({ deps, desired, secrets, warnings }: PlanContext, step: Step) {
  const { ceiling_percents, wakes_for_critical, ...fields } = fieldsOf(desired, step)
  const set = await perform(setNotices, deps, {
    ...fields,
    ceiling_percents: ceiling_percents ?? DEFAULT_NOTICE_SETTINGS.ceilingPercents,
    wakes_for_critical: wakes_for_critical ?? false,
  })
  warnings.push(...set.warnings.map((warning) => `notices: ${warning}`))
  if (set.webhook_secret === null) return
  secrets.push({ kind: 'webhook', name: 'notices', id: null, secret: set.webhook_secret })
}

async function applyAccount({ deps, desired, secrets, warnings }: PlanContext, step: Step) {
  const stated = Object.entries(fieldsOf(desired, step))
  const isLimit = (field: string): boolean => limitNamed(field) !== undefined
  const limits = Object.fromEntries(stated.filter(([field]) => isLimit(field)))
  const { member_daily_usd, ...fields } = Object.fromEntries(
    stated.filter(([field]) => !isLimit(field)),
  )
  if (step.op === 'add') await perform(createAccount, deps, { name: step.name, ...limits })
  else if (step.op === 'change' && Object.keys(step.changes).some(isLimit)) {
    const limited = await perform(setAccountLimits, deps, { account: step.name, ...limits })
    warnings.push(...limited.warnings.map((warning) => `${step.name}: ${warning}`))
  }
  const isAllowed = step.op === 'change' && 'member_daily_usd' in step.changes
  if (isAllowed || (step.op === 'add' && member_daily_usd !== null)) {
    await perform(editAccount, deps, { account: step.name, member_daily_usd })
  }
  if (step.op === 'add' && Object.values(fields).every((value) => value === null)) return
  if (step.op === 'change' && !Object.keys(step.changes).some((field) => field in fields)) return
  const set = await perform(setThreshold, deps, { account: step.name, ...fields })
  warnings.push(...set.warnings.map((warning) => `${step.name}: ${warning}`))
  if (set.webhook_secret === null) return
  secrets.push({ kind: 'webhook', name: step.name, id: null, secret: set.webhook_secret })
}

async function applyMember(context: PlanContext, step: Step): Promise<void> {
  const { deps, desired, current } = context
  if (step.op === 'remove') {
    const { account, email } = current.get(entityRef(step))?.fields ?? {}
    await perform(removeMember, deps, { account, person: email })
    return
  }
  await perform(addMember, deps, fieldsOf(desired, step))
}

async function applyProvider(context: PlanContext, step: Step): Promise<void> {
  const { deps, desired, credentials } = context
  const { name } = step
  if (step.op === 'remove') {
    await perform(removeProvider, deps, { name })
    return
  }
  const fields = fieldsOf(desired, step)
  const facts = {
    name,
    type: fields['type'] as ProviderType,
    baseUrl: String(fields['base_url']),
    outputBound: fields['output_bound'] as OutputBound | null,
  }
  const stated = statedCredentials(fields, name, credentials)
  if (stated.length === 0) checkCredential(facts, null)
  for (const { secret } of stated) checkCredential(facts, secret ?? null)
  const { providers } = deps.store
  if (step.op === 'add') {
    const provider = { ...facts, learnedBound: null, createdAt: deps.clock.now() }
    await providers.add(provider, stated, [], actOf(context, 'providers.add', step))
    return
  }
  await untilCurrent(() => {
    const { outputBound, revision } = findProvider(deps, name)
    const amendment = {
      type: facts.type,
      baseUrl: facts.baseUrl,
      ...(facts.outputBound !== outputBound && { outputBound: facts.outputBound }),
      credentials: stated,
    }
    return providers.edit(name, amendment, actOf(context, 'providers.edit', step), revision)
  })
}

/** All that the provider is to have, with their secrets. @throws invalid_request where one was not sent */
function statedCredentials(
  fields: Fields,
  provider: string,
  sent: PlanContext['credentials'],
): readonly StatedCredential[] {
  const several = (fields['credentials'] ?? []) as unknown as readonly Credential[]
  if (fields['has_credential'] === true && several.length === 0) {
    return [{ name: DEFAULT_CREDENTIAL, weight: 1, secret: credentialFor(sent, provider) }]
  }
  return several.map(({ name, weight }) => ({
    name,
    weight,
    secret: credentialFor(sent, credentialRef(provider, name)),
  }))
}

/** Names the secret of one of several; no provider's name has a slash. */
export const credentialRef = (provider: string, name: string): string => `${provider}/${name}`

function credentialFor(credentials: PlanContext['credentials'], name: string): string {
  const credential = credentials[name]
  if (credential !== undefined) return credential
  throw new GatewayError('invalid_request', `the credential of provider ${name} was not sent`)
}

async function applyModel(context: PlanContext, step: Step): Promise<void> {
  const { deps } = context
  const { models } = deps.store
  const { name } = step
  if (step.op === 'remove') {
    await perform(removeModel, deps, { model: name })
    return
  }
  const card = context.desired.get(entityRef(step))?.card
  if (card === undefined) throw new GatewayError('internal_error', `no card of ${name}`)
  if (step.op === 'add') {
    await models.add(card, actOf(context, 'models.add', step))
    return
  }
  const changed = Object.keys(step.changes)
  const changes = (fields: readonly string[]) => ({
    ...step,
    changes: Object.fromEntries(
      Object.entries(step.changes).filter(([field]) => fields.includes(field)),
    ),
  })
  const cardFields = changed.filter(isCardField)
  const prices = changed.filter(isPriceField)
  if (cardFields.length > 0) {
    const act = actOf(context, 'models.edit', changes(cardFields))
    await models.amend(name, changedFacts(card, cardFields), act)
  }
  if (prices.length > 0) {
    const [price] = card.prices
    const act = actOf(context, 'models.price', changes(prices))
    await (price === undefined ? models.unprice(name, act) : models.price(name, price, act))
  }
  const routed = changed.filter((field) => field === 'route' || field === 'route_order')
  if (routed.length > 0) {
    const act = actOf(context, 'models.route.set', changes(routed))
    await models.route(ownRoute(card) ?? { pattern: name, order: 'weight', hops: [] }, act)
  }
}

async function applyRoute(context: PlanContext, step: Step): Promise<void> {
  const { deps, desired } = context
  if (step.op === 'remove') {
    // Gone with its providers where they went first.
    if (deps.store.catalogue.current().routes.has(step.name))
      await perform(resetRoute, deps, { model: step.name })
    return
  }
  const { order, hops } = fieldsOf(desired, step)
  const route: Route = {
    pattern: step.name,
    order: order === 'latency' ? order : 'weight',
    hops: (hops as unknown as readonly HopRecord[]).map(({ upstream, ...hop }) => ({
      ...hop,
      upstreamName: upstream,
    })),
  }
  await deps.store.models.route(route, actOf(context, 'models.route.set', step))
}

async function applyAlias({ deps, desired }: PlanContext, step: Step): Promise<void> {
  const { name } = step
  if (step.op === 'remove') {
    // Removed with its model where that went first.
    if (deps.store.catalogue.current().aliases.has(name))
      await perform(unaliasModel, deps, { name })
    return
  }
  await perform(aliasModel, deps, { name, ...fieldsOf(desired, step) })
}

const EDITED = ['name', 'note', 'expires_at', 'disabled']

async function applyKey(context: PlanContext, step: Step): Promise<void> {
  const { deps, desired, secrets, warnings } = context
  if (step.op === 'remove') {
    await perform(revokeKey, deps, { key: idOf(context, step) })
    return
  }
  if (step.op === 'add') {
    const { disabled, ...fields } = fieldsOf(desired, step)
    const issued = await perform(createKey, deps, fields)
    secrets.push({ kind: 'key', name: step.name, id: issued.id, secret: issued.key })
    warnings.push(...issued.warnings.map((warning) => `${step.name}: ${warning}`))
    if (disabled === true) await perform(editKey, deps, { key: issued.id, disabled })
    return
  }
  const id = idOf(context, step) as KeyId
  const to = valuesOf(step.changes)
  const edited = Object.entries(to).filter(([field]) => EDITED.includes(field))
  const limits = Object.entries(to).filter(([field]) => !EDITED.includes(field))
  if (edited.length > 0) {
    await perform(editKey, deps, { key: id, ...Object.fromEntries(edited) })
  }
  if (limits.length > 0) {
    const amended = await perform(setLimits, deps, {
      keys: [id],
      ...Object.fromEntries(limits),
    })
    warnings.push(...amended.flatMap((one) => one.warnings.map((text) => `${step.name}: ${text}`)))
  }
}

async function applyClient(context: PlanContext, step: Step): Promise<void> {
  const { deps, desired, secrets, warnings } = context
  if (step.op === 'remove') {
    await perform(removeClient, deps, { client: idOf(context, step) })
    return
  }
  if (step.op === 'change') {
    const input = { client: idOf(context, step), ...valuesOf(step.changes) }
    await perform(editClient, deps, input)
    return
  }
  const issued = await perform(createClient, deps, fieldsOf(desired, step))
  const { client_id: id, client_secret: secret } = issued
  if (secret !== null) secrets.push({ kind: 'client', name: step.name, id, secret })
  warnings.push(...issued.warnings.map((warning) => `${step.name}: ${warning}`))
}

/** People are added one by one, as `groups add` adds them. */
async function applyGroup({ deps, desired }: PlanContext, { name, ...step }: Step): Promise<void> {
  const { groups } = deps.store.signin
  const before = (await groups.members(name)).map(({ email }) => emailKey(email))
  const wanted = step.op === 'remove' ? [] : peopleOf(fieldsOf(desired, { name, ...step } as Step))
  const [joining, leaving] = [without(wanted, before), without(before, wanted)]
  if (joining.length > 0) await perform(addToGroup, deps, { group: name, people: joining })
  if (leaving.length > 0) await perform(removeFromGroup, deps, { group: name, people: leaving })
}

const peopleOf = ({ people = [] }: Fields): readonly string[] => people as readonly string[]

const without = (some: readonly string[], others: readonly string[]): readonly string[] => {
  const known = new Set(others)
  return some.filter((one) => !known.has(one))
}

const fieldsOf = (desired: PlanContext['desired'], step: Step): Fields =>
  desired.get(entityRef(step))?.fields ?? {}

const valuesOf = (changes: Changes): Fields =>
  Object.fromEntries(Object.entries(changes).map(([field, { to }]) => [field, to]))

function idOf({ current }: PlanContext, step: Step): string {
  const id = current.get(entityRef(step))?.id
  if (typeof id === 'string') return id
  throw new GatewayError('internal_error', `${entityRef(step)} has no id`)
}

/** The act of a change that no verb makes in this form, under the name of the verb that it is like. */
function actOf(
  { deps }: PlanContext,
  verb: string,
  step: Exclude<Step, { readonly op: 'remove' }>,
): Act {
  const changed = step.op === 'add' ? step.fields : step.changes
  return draftAct(deps.clock.now(), deps.who, verb, { target: step.name, changed })
}
