/** A changed limit of a key or an account, as its command prints it. */
import { limitNamed } from '#domain/limits.ts'
import type { VerbRecord } from '#operator/verbs.ts'

type Change = VerbRecord<'limits.set'>[number]['changes'][number]

/** "rpm 60 → 120" */
export function describeChange({ limit, from, to }: Change): string {
  const unset = limit === 'allowed_models' ? 'all' : 'none'
  const text = (value: Change['from']): string =>
    value === null ? unset : Array.isArray(value) ? value.join(',') : String(value)
  const title = limit === 'allowed_models' ? 'models' : limitNamed(limit)?.flag
  return `${title} ${text(from)} → ${text(to)}`
}
