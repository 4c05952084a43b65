/** Renders a refusal for the caller: which limit, its value, what is used, and what lifts it (contract §3). */
import { type Refusal, whoseLimit } from './admission.ts'
import { renderInstant } from './clock.ts'
import { type ErrorCode, GatewayError } from './errors.ts'
import { limitNamed } from './limits.ts'
import { dollars } from './money.ts'

/** With the metadata of contract §3 and, where waiting helps, a `Retry-After`. */
export function toRefusalError(refusal: Refusal, keyName: string): GatewayError {
  const { code, limit, of, limitValue, used, resetsAt, retryAfterSeconds, held } = refusal
  return new GatewayError(
    code === 'key_revoked' ? stateCode(used) : code,
    refusalMessage(refusal, keyName),
    {
      metadata: {
        limit,
        ...(of && { limit_of: of }),
        limit_value: limitValue,
        used,
        resets_at: renderInstant(resetsAt),
        ...(held && { held_usd: held.usd, requests_in_progress: held.requests }),
      },
      ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
    },
  )
}

/** A key may also have expired or been disabled between its look-up and its claim. */
function stateCode(status: string | number): ErrorCode {
  if (status === 'expired') return 'api_key_expired'
  return status === 'disabled' ? 'api_key_disabled' : 'api_key_revoked'
}

function refusalMessage(refusal: Refusal, keyName: string): string {
  const { code, limit, of, limitValue, used, tokens, resetsAt, retryAfterSeconds, held } = refusal
  const until = resetsAt === null ? '' : renderInstant(resetsAt)
  const key = `key ${keyName}`
  const who = {
    account: `the account of ${key}`,
    key,
    end_user: `this end user of ${key}`,
  }[whoseLimit(refusal)]
  switch (code) {
    case 'daily_spend_limit_exceeded':
    case 'monthly_spend_limit_exceeded':
      return `${who} has spent $${used} of its ${limit} of $${limitValue}; it resets at ${until}, or when the ceiling is raised`
    case 'insufficient_balance':
      return `the account balance of ${dollars(String(limitValue))} does not allow another request; a top-up lifts this`
    case 'rate_limit_exceeded': {
      const [what, frees] = limitNamed(limit)?.counts ?? []
      const spent = tokens === undefined ? used : Number(used) - tokens.held
      const holds = tokens?.held ? `, requests in progress hold ${tokens.held} more` : ''
      const needs = tokens === undefined ? '' : `, and this request may use ${tokens.needed}`
      const when = resetsAt === null ? 'as they end' : `in ${retryAfterSeconds} s`
      return `${who} used ${spent} of ${limitValue} ${what}${holds}${needs}; ${frees} ${when}`
    }
    case 'concurrency_limit_exceeded':
      return `${who} has ${used} of ${limitValue} requests in progress; a place frees when one of them ends`
    case 'spend_reserved':
      return `${held?.requests} ${held?.requests === 1 ? 'request in progress holds' : 'requests in progress hold'} $${held?.usd}, and with that $${used} of ${of === 'account' ? `the account's ${limit}` : limit} ($${limitValue}) is spent or held; try again when one of them ends, or ${limit === 'balance_usd' ? 'after a top-up' : 'when the ceiling is raised'}`
    case 'key_revoked':
      return `${key} is ${used}`
  }
}
