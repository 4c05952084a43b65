/** Requests of real clients, sent as they were captured; where they are not there, none. */
import { request } from 'node:http'
import { type Captured, capturedRequests } from '../messages/native-gateway.ts'

export interface CapturedRequest extends Captured {
  readonly name: string
  /** The client and what it did, without the number of the request. */
  readonly scenario: string
}

export const CAPTURES: readonly CapturedRequest[] = capturedRequests(/\.json$/).map(
  ([name, captured]) => ({ ...captured, name, scenario: name.replace(/\.\d+$/, '') }),
)

export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** Its headers stay but for the key, which stands where the client's own stood, and what follows from the body. */
export function sendAsCaptured(
  url: string,
  key: string,
  { method, path, headers, body }: CapturedRequest,
): Promise<Answered> {
  const { type, text } = toText(body)
  const sent: Record<string, string> = {}
  for (const [header, value] of Object.entries(headers)) {
    if (!/^(?:host|content-length|transfer-encoding)$/i.test(header)) sent[header] = value
  }
  for (const header of Object.keys(sent)) {
    if (/^authorization$/i.test(header)) sent[header] = `Bearer ${key}`
    else if (/^x-api-key$/i.test(header) && !hasBearer(sent)) sent[header] = key
    else if (/^content-type$/i.test(header) && type !== null) sent[header] = type
  }
  if (text !== '') sent['content-length'] = String(Buffer.byteLength(text))
  return new Promise((resolve, reject) => {
    const asking = request(url + path, { method, headers: sent }, async (answer) => {
      let said = ''
      for await (const piece of answer.setEncoding('utf8')) said += piece
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: said })
    })
    asking.on('error', reject)
    asking.end(text)
  })
}

const hasBearer = (headers: Readonly<Record<string, string>>): boolean =>
  Object.keys(headers).some((header) => /^authorization$/i.test(header))

/** A form is captured by the names of its fields. */
function toText(body: unknown): { readonly type: string | null; readonly text: string } {
  if (body === null || body === undefined) return { type: null, text: '' }
  const fields = (body as { __multipart?: readonly { name: string; value?: string }[] }).__multipart
  if (fields === undefined) return { type: null, text: JSON.stringify(body) }
  const parts = fields.map(
    ({ name, value = '-' }) =>
      `--form\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  return { type: 'multipart/form-data; boundary=form', text: `${parts.join('')}--form--\r\n` }
}
