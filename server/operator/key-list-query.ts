/** The input of `keys.list`, validated without zod: loading it would take a tenth of the command's run time. */
import { DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import type { KeyKind } from '#domain/key.ts'
import { invalidInput } from './verb.ts'

export interface SentKeyListQuery {
  /** Name or id; the default account when absent. */
  readonly account?: string
  readonly include_revoked?: boolean
  /** All kinds when null or absent. */
  readonly kind?: KeyKind | null
}

export type KeyListQuery = Required<SentKeyListQuery>

const KINDS: readonly unknown[] = ['ordinary', 'provisioning', null] satisfies (KeyKind | null)[]

/** @throws invalid_request */
export function readKeyListQuery(untrusted: unknown): KeyListQuery {
  if (typeof untrusted !== 'object' || untrusted === null || Array.isArray(untrusted)) {
    throw invalidInput('', 'must be an object')
  }
  const {
    account = DEFAULT_ACCOUNT_NAME,
    include_revoked = false,
    kind = null,
    ...rest
  } = untrusted as Record<string, unknown>
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) throw invalidInput('', `there is no field "${unknown}"`)
  if (typeof account !== 'string') throw invalidInput('account', 'must be a text')
  if (typeof include_revoked !== 'boolean')
    throw invalidInput('include_revoked', 'must be true or false')
  if (!KINDS.includes(kind)) throw invalidInput('kind', 'must be "ordinary" or "provisioning"')
  return { account, include_revoked, kind: kind as KeyKind | null }
}
