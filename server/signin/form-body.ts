/** Reads posted forms of limited size. */

/** Larger than any form of the protocol, and smaller than the library's limit. */
const MAX_BYTES = 32 * 1024

/** The connection ended or failed before the body was complete. */
export class BodyBrokeOff extends Error {}

/** The body's bytes; null if it is too long. @throws BodyBrokeOff */
export async function readBody(request: Request): Promise<Uint8Array | null> {
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BYTES) return null
  const pieces: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const piece of request.body ?? []) {
      bytes += piece.length
      if (bytes > MAX_BYTES) return null
      pieces.push(piece)
    }
  } catch (cause) {
    throw new BodyBrokeOff('the body broke off before its end', { cause })
  }
  return Buffer.concat(pieces)
}

/** The fields of a form; undefined if the body is not a form. */
export function readForm(request: Request, body: Uint8Array): URLSearchParams | undefined {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';')
  const isForm = type.trim().toLowerCase() === 'application/x-www-form-urlencoded'
  return isForm ? new URLSearchParams(Buffer.from(body).toString()) : undefined
}
