/** A device that keeps passkeys, in software: it signs whatever it is told to, also what no real one would. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** What a page passes to a device, as far as it is read here. */
export interface PasskeyOptions {
  readonly challenge: string
  readonly rpId?: string
  readonly rp?: { readonly id: string }
  readonly user?: { readonly id: string; readonly name: string }
  readonly allowCredentials?: readonly { readonly id: string }[]
  readonly excludeCredentials?: readonly { readonly id: string }[]
  readonly userVerification?: string
}

/** What the device does otherwise than it should. */
export interface Twist {
  readonly origin?: string
  readonly rpId?: string
  readonly challenge?: string
  readonly type?: string
  readonly counter?: number
  readonly isVerified?: boolean
  readonly userHandle?: string
  /** Signed by this one's key. */
  readonly by?: SoftPasskey
}

export interface SoftPasskey {
  readonly id: string
  readonly key: KeyObject
  /** The answer to a page that adds a passkey, as its script posts it. */
  made(options: PasskeyOptions, twist?: Twist): string
  /** The answer to a page that asks for one. */
  used(options: PasskeyOptions, twist?: Twist): string
}

const FLAGS = { present: 1, verified: 4, attested: 64 }

const sha256 = (data: Uint8Array | string): Buffer => createHash('sha256').update(data).digest()

/** CBOR of a byte string. */
const bytesOf = (bytes: Buffer): Buffer => Buffer.concat([Buffer.from([0x58, bytes.length]), bytes])
/** CBOR of a text of less than 24 characters. */
const textOf = (text: string): Buffer =>
  Buffer.concat([Buffer.from([0x60 + text.length]), Buffer.from(text)])

/** An ES256 key in COSE. */
function coseOf(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  const part = (text: string) => bytesOf(Buffer.from(text, 'base64url'))
  const head = Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21])
  return Buffer.concat([head, part(x), Buffer.from([0x22]), part(y)])
}

export function softPasskey(origin: string): SoftPasskey {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const credential = randomBytes(32)
  const id = credential.toString('base64url')
  let uses = 0

  const clientDataOf = (type: string, { challenge }: PasskeyOptions, twist: Twist): Buffer =>
    Buffer.from(
      JSON.stringify({
        type: twist.type ?? type,
        challenge: twist.challenge ?? challenge,
        origin: twist.origin ?? origin,
        crossOrigin: false,
      }),
    )
  const headOf = (rpId: string, flags: number, { rpId: other, isVerified = true }: Twist) => {
    const said = FLAGS.present + (isVerified ? FLAGS.verified : 0) + flags
    return Buffer.concat([sha256(other ?? rpId), Buffer.from([said])])
  }
  const counterOf = (count: number): Buffer => {
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(count)
    return counter
  }
  const written = (response: Readonly<Record<string, Buffer | string>>): string =>
    JSON.stringify({
      id,
      rawId: id,
      type: 'public-key',
      clientExtensionResults: {},
      response: Object.fromEntries(
        Object.entries(response).map(([name, value]) => [
          name,
          typeof value === 'string' ? value : value.toString('base64url'),
        ]),
      ),
    })

  const passkey: SoftPasskey = {
    id,
    key: privateKey,
    made(options, twist = {}) {
      const length = Buffer.from([0, credential.length])
      const authData = Buffer.concat([
        headOf(options.rp?.id ?? '', FLAGS.attested, twist),
        counterOf(twist.counter ?? 0),
        Buffer.alloc(16),
        length,
        credential,
        coseOf(publicKey),
      ])
      const sized = Buffer.concat([Buffer.from([0x58, authData.length]), authData])
      const attestationObject = Buffer.concat([
        Buffer.from([0xa3]),
        textOf('fmt'),
        textOf('none'),
        textOf('attStmt'),
        Buffer.from([0xa0]),
        textOf('authData'),
        sized,
      ])
      const clientDataJSON = clientDataOf('webauthn.create', options, twist)
      return written({ clientDataJSON, attestationObject })
    },
    used(options, twist = {}) {
      uses += 1
      const head = headOf(options.rpId ?? '', 0, twist)
      const authenticatorData = Buffer.concat([head, counterOf(twist.counter ?? uses)])
      const clientDataJSON = clientDataOf('webauthn.get', options, twist)
      const signed = Buffer.concat([authenticatorData, sha256(clientDataJSON)])
      const signature = sign('sha256', signed, twist.by?.key ?? privateKey)
      const { userHandle } = twist
      return written({
        clientDataJSON,
        authenticatorData,
        signature,
        ...(userHandle !== undefined && { userHandle }),
      })
    },
  }
  return passkey
}
