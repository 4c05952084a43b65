/** Where webhooks may go: https to the public internet, and inside only where the operator said so (contract §9). */
import { isLoopbackAddress, isPrivateAddress, isPublicAddress } from '#outbound/addresses.ts'
import { type DestinationPolicy, PUBLIC_HTTPS } from '#outbound/policy.ts'

export interface WebhookPermissions {
  /** To this very machine, by http too: for trying them out. */
  readonly loopback: boolean
  /** To private networks, by https. */
  readonly private: boolean
}

/** Any port; names of the inside are looked up where the inside is allowed, and their addresses judged like all others. */
export const webhookPolicy = (permissions: WebhookPermissions): DestinationPolicy => ({
  ...PUBLIC_HTTPS,
  protocols: permissions.loopback ? ['https:', 'http:'] : ['https:'],
  insideNames: permissions.loopback || permissions.private,
  isAllowed(address, protocol) {
    if (permissions.loopback && isLoopbackAddress(address)) return true
    if (protocol !== 'https:') return false
    return isPublicAddress(address) || (permissions.private && isPrivateAddress(address))
  },
})
