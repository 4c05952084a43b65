/** Computes the plan: the steps that turn the current state into the desired one. Pure. */
import { GatewayError } from '#domain/errors.ts'
import { OWN } from '#domain/route.ts'
import { DEMO, type Entity, type Fields, KINDS, type Kind, type Value } from './entity.ts'

export type Step =
  | { readonly op: 'add'; readonly kind: Kind; readonly name: string; readonly fields: Fields }
  | {
      readonly op: 'change'
      readonly kind: Kind
      readonly name: string
      readonly changes: Changes
    }
  | { readonly op: 'remove'; readonly kind: Kind; readonly name: string }

export type Changes = {
  readonly [field: string]: { readonly from: Value; readonly to: Value }
}

export interface DesiredState {
  readonly entities: readonly Entity[]
  /** The sections that the file has, also empty ones. */
  readonly sections: ReadonlySet<Kind>
  /** Whether entities of those kinds that the file does not name are removed. */
  readonly prune: boolean
}

/** They have a history, and accounts have money. */
const NEVER_REMOVED: ReadonlySet<Kind> = new Set(['rate', 'notices', 'account'])

/** Additions and changes in the order of their dependencies, then removals in the reverse order. */
export function planSteps(desired: DesiredState, current: readonly Entity[]): readonly Step[] {
  const { entities, sections, prune } = desired
  const known = byRef(current)
  const named = byRef(entities)
  const steps = KINDS.flatMap((kind) =>
    entities
      .filter((entity) => entity.kind === kind)
      .flatMap((entity) => stepsTo(entity, known.get(entityRef(entity)))),
  )
  if (!prune) return steps
  const isUnnamed = (entity: Entity): boolean =>
    sections.has(entity.kind) && !NEVER_REMOVED.has(entity.kind) && !named.has(entityRef(entity))
  const removedProviders = new Set(
    current.filter((entity) => entity.kind === 'provider' && isUnnamed(entity)).map(nameOf),
  )
  // A provider's models are removed with it, even when the file has no models section.
  const isRemoved = (entity: Entity): boolean =>
    isUnnamed(entity) || isModelOf(entity, removedProviders)
  const removedModels = new Set(
    current.filter((entity) => entity.kind === 'model' && isRemoved(entity)).map(nameOf),
  )
  // And a model's aliases with it, unless the file gives them to another.
  const isGone = (entity: Entity): boolean =>
    isRemoved(entity) || (isAliasOf(entity, removedModels) && !named.has(entityRef(entity)))
  const removals = KINDS.toReversed().flatMap((kind) =>
    current.filter((entity) => entity.kind === kind && isGone(entity)),
  )
  return [...steps, ...removals.map(({ kind, name }): Step => ({ op: 'remove', kind, name }))]
}

const nameOf = ({ name }: Entity): string => name

const isModelOf = ({ kind, fields }: Entity, providers: ReadonlySet<string>): boolean =>
  kind === 'model' && providers.has(String(fields['provider']))

const isAliasOf = ({ kind, fields }: Entity, models: ReadonlySet<string>): boolean =>
  kind === 'alias' && models.has(String(fields['model']))

/** Checks that after the plan every model's providers and every key's account exist. @throws invalid_request */
export function requireReferences(
  steps: readonly Step[],
  desired: readonly Entity[],
  current: readonly Entity[],
): void {
  const removed = new Set(steps.filter(({ op }) => op === 'remove').map(entityRef))
  const staying = current.filter((entity) => !removed.has(entityRef(entity)))
  const after = byRef([...staying, ...desired])
  for (const { kind, name, fields } of after.values()) {
    if (kind === 'key' && !after.has(`account ${String(fields['account'])}`)) {
      throw refusal(`key ${name} is of an account that is neither here nor in the file`)
    }
    if (kind === 'member' && !after.has(`account ${String(fields['account'])}`)) {
      throw refusal(`member ${name} is of an account that is neither here nor in the file`)
    }
    if (kind === 'alias' && !isModelAfter(String(fields['model']), after)) {
      throw refusal(`alias ${name} would name ${String(fields['model'])}, which would not be there`)
    }
    for (const provider of providersOf({ kind, fields })) {
      if (provider !== DEMO && !after.has(`provider ${provider}`)) {
        throw refusal(`${kind} ${name} would be served by ${provider}, which would not be there`)
      }
    }
  }
}

/** Who would serve a model, or what a mask matches. */
function providersOf({ kind, fields }: Pick<Entity, 'kind' | 'fields'>): readonly string[] {
  if (kind !== 'model' && kind !== 'route') return []
  const hops = (fields['route'] ?? fields['hops'] ?? []) as readonly { readonly provider: string }[]
  const named = hops.map(({ provider }) => provider)
  return kind === 'model'
    ? [String(fields['provider']), ...named]
    : named.filter((provider) => provider !== OWN)
}

/** The models of the demo provider are in no file. */
const isModelAfter = (id: string, after: ReadonlyMap<string, Entity>): boolean =>
  after.has(`model ${id}`) || id.startsWith(`${DEMO}/`)

const refusal = (words: string): GatewayError => new GatewayError('invalid_request', words)

export const entityRef = ({ kind, name }: Pick<Entity, 'kind' | 'name'>): string =>
  `${kind} ${name}`

export const byRef = (entities: readonly Entity[]): ReadonlyMap<string, Entity> =>
  new Map(entities.map((entity) => [entityRef(entity), entity]))

function stepsTo({ kind, name, fields }: Entity, known: Entity | undefined): readonly Step[] {
  if (known === undefined) return [{ op: 'add', kind, name, fields: withoutNulls(fields) }]
  const changes = changesBetween(known.fields, fields)
  return Object.keys(changes).length === 0 ? [] : [{ op: 'change', kind, name, changes }]
}

const withoutNulls = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

const changesBetween = (from: Fields, to: Fields): Changes =>
  Object.fromEntries(
    Object.entries(to)
      .map(([field, value]) => [field, { from: from[field] ?? null, to: value }] as const)
      .filter(([, change]) => JSON.stringify(change.from) !== JSON.stringify(change.to)),
  )
