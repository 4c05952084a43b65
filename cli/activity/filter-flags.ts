/** Filters on requests, as flags of `activity list` and `activity tail`. */
import type { Command } from 'commander'
import { DIALECTS } from '#domain/work.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { readChoice } from '../flags/read-choice.ts'
import { readDuration } from '../flags/read-value.ts'

export interface FilterFlags {
  readonly key?: string
  readonly model?: string
  readonly provider?: string
  readonly user?: string
  readonly surface?: string
  readonly status?: string
  readonly slow?: string
  readonly errors?: boolean
}

export const addFilterFlags = (command: Command): Command =>
  command
    .option('--key <key>', 'only this key: id, name or shown prefix')
    .option('--model <id>', 'only this model')
    .option('--provider <name>', 'only requests that this provider served')
    .option('--user <user>', 'only requests of this end user')
    .option('--surface <surface>', `only this one: ${DIALECTS.join(', ')}`)
    .option('--status <status>', 'only this status: 4xx, 5xx, 429, 200 …')
    .option('--slow <duration>', 'only requests that took at least: 500ms, 10s, 2m')
    .option('--errors', 'only requests that did not complete')

/** By their names on the wire. @throws CommandError 2 */
export function readFilterFlags({ accountInput }: Context, flags: FilterFlags) {
  const { key, model, provider, user, surface, status, slow, errors } = flags
  if (status !== undefined && !/^[1-5](xx|\d\d)$/.test(status)) {
    throw usageError(
      `--status must be a status such as 429, or a class such as 4xx (got "${status}")`,
    )
  }
  return {
    ...accountInput,
    key: key ?? null,
    model: model ?? null,
    provider: provider ?? null,
    user: user ?? null,
    surface: surface === undefined ? null : readChoice('--surface', surface, DIALECTS),
    status: status ?? null,
    least_total_ms: slow === undefined ? null : readDuration('--slow', slow),
    errors: errors === true,
  }
}
