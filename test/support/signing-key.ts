/** One signing key for all the sign-in providers of a test file: making an RSA key takes longer than most tests. */
import type { Instant } from '#domain/clock.ts'
import type { Keyring } from '#signin/register/keyring.ts'
import { newSigningKey } from '#signin/register/signing-key.ts'

let made: ReturnType<typeof newSigningKey> | undefined

/** Keeps it in a new store, so that the provider which opens there finds it. */
export async function keepSigningKey(keyring: Keyring, at: Instant): Promise<void> {
  made ??= newSigningKey(at)
  await keyring.addSigningKey({ ...(await made), createdAt: at }, null, null)
}
