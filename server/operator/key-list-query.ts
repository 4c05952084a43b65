/** The input of `keys.list`, validated without zod: loading it would take a tenth of the command's run time. */
import { DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import { KEY_KINDS, type KeyKind } from '#domain/key.ts'
import { invalidInput } from './verb.ts'

export interface SentKeyListQuery {
  /** Name or id; the default account when absent. */
  readonly account?: string
  readonly include_revoked?: boolean
  /** All kinds when null or absent. */
  readonly kind?: KeyKind | null
  /** A part of the name, the note, the label or the maker's address. */
  readonly matching?: string
  /** Newest first when absent; by spend of today, or by last use, the most or the latest first. */
  readonly sort?: KeyOrder
  readonly skip?: number
  /** All when absent. */
  readonly limit?: number
}

export type KeyOrder = (typeof ORDERS)[number]

export type KeyListQuery = Required<SentKeyListQuery>

const ORDERS = ['created', 'name', 'used', 'spend'] as const
const KINDS: readonly unknown[] = [...KEY_KINDS, null]

/** @throws invalid_request */
export function readKeyListQuery(untrusted: unknown): KeyListQuery {
  if (typeof untrusted !== 'object' || untrusted === null || Array.isArray(untrusted)) {
    throw invalidInput('', 'must be an object')
  }
  const {
    account = DEFAULT_ACCOUNT_NAME,
    include_revoked = false,
    kind = null,
    matching = '',
    sort = 'created',
    skip = 0,
    limit = Number.MAX_SAFE_INTEGER,
    ...rest
  } = untrusted as Record<string, unknown>
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) throw invalidInput('', `there is no field "${unknown}"`)
  if (typeof account !== 'string') throw invalidInput('account', 'must be a text')
  if (typeof include_revoked !== 'boolean')
    throw invalidInput('include_revoked', 'must be true or false')
  if (!KINDS.includes(kind)) throw invalidInput('kind', 'must be "ordinary" or "provisioning"')
  if (typeof matching !== 'string') throw invalidInput('matching', 'must be a text')
  const order = ORDERS.find((one) => one === sort)
  if (order === undefined) throw invalidInput('sort', `must be one of ${ORDERS.join(', ')}`)
  return {
    account,
    include_revoked,
    kind: kind as KeyKind | null,
    matching,
    sort: order,
    skip: readCount('skip', skip),
    limit: readCount('limit', limit),
  }
}

/** @throws invalid_request */
function readCount(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw invalidInput(name, 'must be a whole number, at least 0')
}
