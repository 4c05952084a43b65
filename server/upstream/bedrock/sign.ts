/** Signs requests to AWS (Signature Version 4), by AWS's own library. */
import { createHash, createHmac, type Hmac } from 'node:crypto'
import type { SignatureV4 } from '@smithy/signature-v4'
import type { Clock } from '#domain/clock.ts'
import type { AwsKey } from '#domain/cloud-credential.ts'
import type { Authorizer } from '../authorize.ts'
import type { LeaseKeeper } from '../lease.ts'
import type { Message } from '../reply.ts'

/** The name by which a signature is for one service of AWS and no other. */
export type AwsService = 'bedrock' | 'bedrock-mantle'

export function openSigner(
  keys: LeaseKeeper<AwsKey>,
  { region, service }: { readonly region: string; readonly service: AwsService },
  clock: Clock,
): Authorizer {
  let signer: Promise<SignatureV4> | null = null

  /** The library is loaded with the first request. It keeps the keys that it derives for a day. */
  const load = async (): Promise<SignatureV4> => {
    const { SignatureV4 } = await import('@smithy/signature-v4')
    return new SignatureV4({ region, service, credentials: () => keys.get(), sha256: Sha256 })
  }

  return {
    async headersFor({ body }, url, method) {
      signer ??= load()
      const signed = await (await signer).sign(
        {
          method,
          protocol: url.protocol,
          hostname: url.hostname,
          path: url.pathname,
          query: Object.fromEntries(url.searchParams),
          headers: { host: url.host, 'x-amz-content-sha256': hash(body) },
        },
        // In seconds.
        { signingDate: clock.now() / 1_000 },
      )
      const { host: _, ...added } = signed.headers
      return added
    },
    refused: () => keys.forget(),
  }
}

function hash(body: Message['body']): string {
  const sha256 = createHash('sha256')
  if (typeof body === 'string' || body instanceof Uint8Array) sha256.update(body)
  else for (const piece of body) sha256.update(piece)
  return sha256.digest('hex')
}

/** The runtime's own, in the library's shape. */
class Sha256 {
  private readonly state: Pick<Hmac, 'update' | 'digest'>

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.state = secret === undefined ? createHash('sha256') : createHmac('sha256', toBytes(secret))
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.state.update(toBytes(data))
  }

  async digest(): Promise<Uint8Array> {
    return new Uint8Array(this.state.digest())
  }

  /** The library makes a new one for each digest. */
  reset(): void {}
}

function toBytes(data: string | ArrayBuffer | ArrayBufferView): string | Uint8Array {
  if (typeof data === 'string') return data
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data)
}
