/** The secret of a webhook as it is kept: encrypted by the vault. */
import type { WebhookSecretOffer } from '#domain/low-balance.ts'

/** An offered one is kept where there is none, or to take another's place; without an address there is none. */
export function keptSecret(
  webhookUrl: string | null,
  sealed: string | null,
  offer: WebhookSecretOffer | undefined,
  seal: (secret: string) => string,
): { readonly sealed: string | null; readonly isNew: boolean } {
  if (webhookUrl === null) return { sealed: null, isNew: false }
  const isTaken = offer !== undefined && (sealed === null || offer.rotates)
  return isTaken ? { sealed: seal(offer.secret), isNew: true } : { sealed, isNew: false }
}
