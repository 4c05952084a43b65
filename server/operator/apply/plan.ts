/** The plan: what has to happen so that the gateway becomes what a file says, and nothing else. Pure: it asks nobody. */
import { GatewayError } from '#domain/errors.ts'
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
  readonly wanted: readonly Entity[]
  /** The kinds that the file speaks of at all. */
  readonly sections: ReadonlySet<Kind>
  /** Whether what it does not name of those kinds goes. */
  readonly prune: boolean
}

/** Rates and accounts have a history, and money: they stay. */
const STAYING: ReadonlySet<Kind> = new Set(['rate', 'account'])

/** Additions and changes in the order in which things depend on each other, then removals in the reverse. */
export function planSteps(desired: DesiredState, present: readonly Entity[]): readonly Step[] {
  const known = byName(present)
  const wanted = byName(desired.wanted)
  const steps = KINDS.flatMap((kind) =>
    desired.wanted
      .filter((entity) => entity.kind === kind)
      .flatMap((entity) => stepsTo(entity, known.get(titleOf(entity)))),
  )
  if (!desired.prune) return steps
  const isUnnamed = (entity: Entity): boolean =>
    desired.sections.has(entity.kind) && !STAYING.has(entity.kind) && !wanted.has(titleOf(entity))
  const gone = new Set(
    present.filter((entity) => entity.kind === 'provider' && isUnnamed(entity)).map(nameOf),
  )
  // The models of a provider go with it, whether or not the file speaks of models.
  const goes = (entity: Entity): boolean => isUnnamed(entity) || isModelOf(entity, gone)
  const going = KINDS.toReversed().flatMap((kind) =>
    present.filter((entity) => entity.kind === kind && goes(entity)),
  )
  return [...steps, ...going.map(({ kind, name }): Step => ({ op: 'remove', kind, name }))]
}

const nameOf = ({ name }: Entity): string => name

const isModelOf = ({ kind, fields }: Entity, providers: ReadonlySet<string>): boolean =>
  kind === 'model' && providers.has(String(fields['provider']))

/** Every model that will be here has its providers here as well. @throws invalid_request */
export function demandServed(
  steps: readonly Step[],
  wanted: readonly Entity[],
  present: readonly Entity[],
): void {
  const removed = new Set(steps.filter(({ op }) => op === 'remove').map(titleOf))
  const staying = present.filter((entity) => !removed.has(titleOf(entity)))
  const after = byName([...staying, ...wanted])
  for (const { kind, name, fields } of after.values()) {
    if (kind === 'key' && !after.has(`account ${String(fields['account'])}`)) {
      throw refusal(`key ${name} is of an account that is neither here nor in the file`)
    }
    if (kind !== 'model') continue
    const hops = (fields['route'] ?? []) as readonly { readonly provider: string }[]
    for (const provider of [String(fields['provider']), ...hops.map((hop) => hop.provider)]) {
      if (provider !== DEMO && !after.has(`provider ${provider}`)) {
        throw refusal(`model ${name} would be served by ${provider}, which would not be there`)
      }
    }
  }
}

const refusal = (words: string): GatewayError => new GatewayError('invalid_request', words)

export const titleOf = ({ kind, name }: Pick<Entity, 'kind' | 'name'>): string => `${kind} ${name}`

export const byName = (entities: readonly Entity[]): ReadonlyMap<string, Entity> =>
  new Map(entities.map((entity) => [titleOf(entity), entity]))

function stepsTo({ kind, name, fields }: Entity, known: Entity | undefined): readonly Step[] {
  if (known === undefined) return [{ op: 'add', kind, name, fields: statedIn(fields) }]
  const changes = changesBetween(known.fields, fields)
  return Object.keys(changes).length === 0 ? [] : [{ op: 'change', kind, name, changes }]
}

const statedIn = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

const changesBetween = (from: Fields, to: Fields): Changes =>
  Object.fromEntries(
    Object.entries(to)
      .map(([field, value]) => [field, { from: from[field] ?? null, to: value }] as const)
      .filter(([, change]) => JSON.stringify(change.from) !== JSON.stringify(change.to)),
  )
