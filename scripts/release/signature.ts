// What a release key signs: the checksums, as `ssh-keygen -Y verify` takes it, and the provenance, as DSSE. One Ed25519 key for both.
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'

export interface Signer {
  /** `ssh-keygen`'s list of who may sign: the principal `gatewayctl`, for files. */
  readonly allowedSigners: string
  /** The same public key as openssl reads it. */
  readonly publicPem: string
  /** @see https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.sshsig */
  signText(text: string): string
  /** @see https://github.com/secure-systems-lab/dsse/blob/master/protocol.md */
  envelop(statement: string): string
}

const NAMESPACE = 'file'
const STATEMENT_TYPE = 'application/vnd.in-toto+json'
/** What stands before the 32 bytes of an Ed25519 key in its SubjectPublicKeyInfo (RFC 8410). */
const SPKI_PREFIX_BYTES = 12

/** @param pem a private Ed25519 key, as `openssl genpkey -algorithm ed25519` makes one */
export function readSigner(pem: string): Signer {
  const key = createPrivateKey(pem)
  if (key.asymmetricKeyType !== 'ed25519') throw new Error('a release key is an Ed25519 key')
  const publicKey = createPublicKey(key)
  const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(SPKI_PREFIX_BYTES)
  const blob = Buffer.concat([field('ssh-ed25519'), field(raw)])
  return {
    allowedSigners: `gatewayctl namespaces="${NAMESPACE}" ssh-ed25519 ${blob.toString('base64')}\n`,
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }) as string,
    signText(text) {
      const said = [field(NAMESPACE), field(''), field('sha512')]
      const digest = createHash('sha512').update(text).digest()
      const signed = Buffer.concat([Buffer.from('SSHSIG'), ...said, field(digest)])
      const signature = [field('ssh-ed25519'), field(sign(null, signed, key))]
      const version = Buffer.from([0, 0, 0, 1])
      const parts = [version, field(blob), ...said, field(Buffer.concat(signature))]
      const lines = Buffer.concat([Buffer.from('SSHSIG'), ...parts])
        .toString('base64')
        .match(/.{1,70}/g)
      return `-----BEGIN SSH SIGNATURE-----\n${lines?.join('\n')}\n-----END SSH SIGNATURE-----\n`
    },
    envelop(statement) {
      const payload = Buffer.from(statement)
      const before = `DSSEv1 ${STATEMENT_TYPE.length} ${STATEMENT_TYPE} ${payload.length} `
      const sig = sign(null, Buffer.concat([Buffer.from(before), payload]), key)
      const keyid = `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`
      const envelope = {
        payloadType: STATEMENT_TYPE,
        payload: payload.toString('base64'),
        signatures: [{ keyid, sig: sig.toString('base64') }],
      }
      return `${JSON.stringify(envelope)}\n`
    },
  }
}

/** A length and what is that long (RFC 4251, string). */
function field(content: string | Uint8Array): Buffer {
  const bytes = Buffer.from(content)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
