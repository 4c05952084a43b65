/** The vendors whose bills can be read, by the type of their provider. */
import { GatewayError } from '#domain/errors.ts'
import { anthropic } from './anthropic.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'
import type { BillingVendor } from './vendor.ts'

const VENDORS: Readonly<Record<string, BillingVendor>> = { anthropic, openai, openrouter }

/** @throws invalid_request */
export function billingVendor(provider: string, type: string): BillingVendor {
  const vendor = Object.hasOwn(VENDORS, type) ? VENDORS[type] : undefined
  if (vendor !== undefined) return vendor
  throw new GatewayError(
    'invalid_request',
    `the bill of a provider of type ${type} cannot be read: only of ${Object.keys(VENDORS).join(', ')}`,
    {
      param: 'provider',
      hint: `gatewayctl usage report --by provider --then-by model   (${provider} by our own books)`,
    },
  )
}
