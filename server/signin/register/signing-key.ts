/** A new signing key: RSA with 2048 bits for RS256, which every client library can verify (contract §10). */
import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { Instant } from '#domain/clock.ts'
import { randomName } from './digest.ts'
import type { SigningKey } from './keyring.ts'

const BITS = 2048

/** Generated off the event loop. */
export async function newSigningKey(at: Instant): Promise<SigningKey> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: BITS })
  const id = `sig_${randomName(12)}`
  const jwk = { ...privateKey.export({ format: 'jwk' }), kid: id, use: 'sig', alg: 'RS256' }
  return { id, jwk: JSON.stringify(jwk), createdAt: at, retiredAt: null }
}
