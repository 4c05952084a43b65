/** The exact commands that resolve a refusal, with values that would have admitted the request. */
import { DEFAULT_ACCOUNT_NAME } from '#domain/account.ts'
import type { ErrorMetadata } from '#domain/errors.ts'
import type { ApiKey } from '#domain/key.ts'
import { limitNamed } from '#domain/limits.ts'
import { readUsd, renderUsd, type UsdNanos } from '#domain/money.ts'
import { shellWord } from '#forms/shell-word.ts'

/** A refusal as the client gets it. */
export interface RefusalFacts {
  readonly code: string
  readonly metadata: ErrorMetadata | null
}

export interface RemedyContext {
  readonly key: ApiKey
  readonly model: string
  readonly accountName: string
}

/** Empty when no command helps: an invalid body, or a request that only has to wait. */
export function remediesFor(
  { code, metadata }: RefusalFacts,
  { key, model, accountName }: RemedyContext,
): readonly string[] {
  switch (code) {
    case 'rate_limit_exceeded':
    case 'concurrency_limit_exceeded':
    case 'daily_spend_limit_exceeded':
    case 'monthly_spend_limit_exceeded':
      return raise(key, accountName, metadata)
    // A limit of the key, the tokens of an answer, that leaves no room for what the body states.
    case 'invalid_request':
      return raise(key, accountName, metadata)
    case 'spend_reserved':
      return metadata?.['limit'] === 'balance_usd'
        ? topUp(accountName)
        : raise(key, accountName, metadata)
    case 'insufficient_balance':
      return topUp(accountName)
    case 'model_not_allowed':
      return [allow(key, accountName, model, metadata)]
    case 'model_not_found':
      return [`gatewayctl models add ${shellWord(model)} --in-usd X --out-usd X`]
    case 'unpriced_model':
      return [`gatewayctl models price ${shellWord(model)} --in-usd X --out-usd X`]
    case 'no_route_available':
      return [`gatewayctl models route ${shellWord(model)}`]
    case 'api_key_disabled':
      return [`gatewayctl keys edit ${key.id} --enable`]
    case 'api_key_expired':
      return [`gatewayctl keys edit ${key.id} --expires never`]
    case 'api_key_revoked':
      return [`gatewayctl keys create ${shellWord(key.name)}`]
    case 'store_unavailable':
      return ['gatewayctl doctor']
    default:
      return []
  }
}

/** The command that sets limits of the key, or of its account where that is whose limit it is. */
const setting = ({ id }: ApiKey, accountName: string, metadata: ErrorMetadata | null): string =>
  metadata?.['limit_of'] === 'account'
    ? `gatewayctl accounts set-limits ${shellWord(accountName)}`
    : `gatewayctl limits set ${id}`

function raise(
  key: ApiKey,
  accountName: string,
  metadata: ErrorMetadata | null,
): readonly string[] {
  const raised = limitNamed(String(metadata?.['limit']))
  if (raised === undefined || raised.unit === 'masks') return []
  const [limit = null, used = null] = [metadata?.['limit_value'], metadata?.['used']]
  return [`${setting(key, accountName, metadata)} --${raised.flag} ${twice(limit, used)}`]
}

/** Twice the limit, or twice the usage if that is more. */
function twice(limit: ErrorMetadata[string], used: ErrorMetadata[string]): string {
  if (typeof limit === 'number') return String(2 * Math.max(limit, Number(used)))
  const [most, spent] = [readUsd(String(limit)) ?? 0n, readUsd(String(used)) ?? 0n]
  const amount = toCents(2n * (most > spent ? most : spent))
  // Doubling a limit of zero would have no effect.
  return renderUsd(most === 0n && amount < DOLLAR ? DOLLAR : amount)
}

const CENT = 10_000_000n
const DOLLAR = (100n * CENT) as UsdNanos

/** Rounded up. */
const toCents = (amount: bigint): UsdNanos => (((amount + CENT - 1n) / CENT) * CENT) as UsdNanos

const topUp = (accountName: string): readonly string[] => [
  accountName === DEFAULT_ACCOUNT_NAME
    ? 'gatewayctl balance top-up 10'
    : `gatewayctl balance top-up 10 --account ${shellWord(accountName)}`,
]

/** `--allow` replaces the whole list, so existing masks are repeated. */
function allow(
  key: ApiKey,
  accountName: string,
  model: string,
  metadata: ErrorMetadata | null,
): string {
  const { allowedModels } = metadata?.['limit_of'] === 'account' ? key.accountLimits : key.limits
  const masks = [...(allowedModels ?? []), model]
  return `${setting(key, accountName, metadata)} ${masks.map((mask) => `--allow ${shellWord(mask)}`).join(' ')}`
}
