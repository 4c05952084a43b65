/** Signing keys of which only one is made in a process: to make an RSA key takes longer than most tests. */
import type { Instant } from '#domain/clock.ts'
import { randomName } from '#signin/register/digest.ts'
import type { Keyring, SigningKey } from '#signin/register/keyring.ts'
import { newSigningKey } from '#signin/register/signing-key.ts'

let made: ReturnType<typeof newSigningKey> | undefined

/** A key of another id than all others, with the same numbers. */
export async function aSigningKey(at: Instant): Promise<SigningKey> {
  made ??= newSigningKey(at)
  const { jwk } = await made
  const id = `sig_${randomName(12)}`
  return {
    id,
    jwk: JSON.stringify({ ...JSON.parse(jwk), kid: id }),
    createdAt: at,
    retiredAt: null,
  }
}

/** Keeps one in a new store, so that the provider which opens there finds it. */
export async function keepSigningKey(keyring: Keyring, at: Instant): Promise<void> {
  await keyring.addSigningKey(await aSigningKey(at), null, null)
}
