/** The vault, which a store without a master key lacks. */
import { GatewayError } from '#domain/errors.ts'
import type { Vault } from './vault.ts'

/** @throws internal_error */
export function requireVault({ vault }: { readonly vault: Vault | null }): Vault {
  if (vault) return vault
  throw new GatewayError(
    'internal_error',
    'no master key: credentials can be neither kept nor read',
    {
      hint: 'name its file in GATEWAY_MASTER_KEY_FILE, or start the gateway if it is given the key; for a new gateway gatewayctl init makes one',
    },
  )
}
