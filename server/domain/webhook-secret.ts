/** The secret that signs webhooks, in the format of Standard Webhooks: `whsec_` and the base64 of random bytes. */

/** Standard Webhooks requires 24 to 64. */
const SECRET_BYTES = 32

/** Generates a secret, which is shown to its owner once. */
export const newWebhookSecret = (): string =>
  `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))))}`
