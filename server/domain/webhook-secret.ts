/** The secret that signs webhooks, in the format of Standard Webhooks: `whsec_` and the base64 of random bytes. */

/** Standard Webhooks requires 24 to 64. */
const SECRET_BYTES = 32

/** Generates a secret, which is shown to its owner once. */
export const newWebhookSecret = (): string =>
  `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))))}`

/** A secret for a webhook that has none yet, or for any where it rotates; it goes with the webhook. */
export interface WebhookSecretOffer {
  readonly secret: string
  readonly rotates: boolean
}

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
