/** Names the flag or argument, instead of the API field, in a verb's refusal. */
import type { Command } from 'commander'
import { GatewayError } from '#domain/errors.ts'
import { LIMITS } from '#domain/limits.ts'

/** Fields whose flag or argument has another name. */
const TYPED_AS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(LIMITS.map(({ name, flag }) => [name, flag])),
  allowed: 'allow',
  amount_usd: 'amount',
  ceiling_percents: 'at',
  context_length: 'context',
  demo_credit_usd: 'demo-credit',
  digest_at: 'digest',
  expires_at: 'expires',
  grace_seconds: 'grace',
  key_name: 'name',
  keys: 'key',
  least_total_ms: 'slow',
  logout_uris: 'logout-uri',
  max_completion_tokens: 'max-output',
  position: 'order',
  quiet: 'quiet-hours',
  redirect_uris: 'redirect-uri',
  rub_per_usd: 'rate',
  threshold_usd: 'below',
  webhook_url: 'webhook',
}

/** `daily_spend_limit_usd: must be …` is `--daily-usd must be …`; anything else as it came. */
export function nameFields(thrown: unknown, { options, registeredArguments }: Command): unknown {
  if (!(thrown instanceof GatewayError) || thrown.code !== 'invalid_request') return thrown
  const { message, details } = thrown
  const { param = '' } = details
  const field = param.split('.')[0] ?? ''
  const typed = TYPED_AS[field] ?? field.replaceAll('_', '-')
  const asTyped = options.some(({ long }) => long === `--${typed}`)
    ? `--${typed}`
    : registeredArguments.some((argument) => argument.name() === typed) && `the ${typed}`
  return asTyped && message.startsWith(`${param}: `)
    ? new GatewayError(thrown.code, `${asTyped} ${message.slice(param.length + 2)}`, details)
    : thrown
}
