/** The secret that signs webhooks, as Standard Webhooks writes it: `whsec_` and the base64 of random bytes. */

/** Standard Webhooks asks for 24 to 64. */
const SECRET_BYTES = 32

/** Mints a secret; its owner is shown it once. */
export const newWebhookSecret = (): string =>
  `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))))}`
