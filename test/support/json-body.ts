/** A client's body as it was received, and what is sent of one. */
import { JsonBody } from '#http/read/json-body.ts'

/** What a body in pieces says. */
export const said = (body: string | readonly (string | Uint8Array)[]): string =>
  typeof body === 'string'
    ? body
    : body.map((piece) => (typeof piece === 'string' ? piece : decoder.decode(piece))).join('')

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

export const bodyOf = (text: string): JsonBody => new JsonBody(new TextEncoder().encode(text))
