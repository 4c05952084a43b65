/** Allowed webhook destinations: https to public addresses, and private ones only if the operator permits it (contract §9). */
import { isLoopbackAddress, isPrivateAddress, isPublicAddress } from '#outbound/addresses.ts'
import { type DestinationPolicy, PUBLIC_HTTPS } from '#outbound/policy.ts'

export interface WebhookPermissions {
  /** Loopback addresses, by http too, for testing. */
  readonly loopback: boolean
  /** To private networks, by https. */
  readonly private: boolean
}

/** Any port. Internal names are resolved only if private addresses are permitted; their addresses are checked like all others. */
export const webhookPolicy = (permissions: WebhookPermissions): DestinationPolicy => ({
  ...PUBLIC_HTTPS,
  protocols: permissions.loopback ? ['https:', 'http:'] : ['https:'],
  internalNames: permissions.loopback || permissions.private,
  isAllowed(address, protocol) {
    if (permissions.loopback && isLoopbackAddress(address)) return true
    if (protocol !== 'https:') return false
    return isPublicAddress(address) || (permissions.private && isPrivateAddress(address))
  },
})
