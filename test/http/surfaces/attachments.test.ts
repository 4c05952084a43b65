/** No number of bytes bounds the tokens of a file or a sound: each is held at the model's context, on every surface (contract §8). */
import { expect, test } from 'vitest'
import { JsonBody } from '#http/read/body.ts'
import { openSeals } from '#http/seals.ts'
import { readMessagesRequest } from '#http/surfaces/messages/read-request.ts'
import { readResponsesRequest } from '#http/surfaces/responses/read-request.ts'

const data = 'AAAA'
const seals = openSeals(new Uint8Array(32))
const askMessages = (part: object) =>
  readMessagesRequest(new JsonBody(JSON.stringify(says('messages', part))), new Headers())
const askResponses = (part: object) =>
  readResponsesRequest(new JsonBody(JSON.stringify(says('input', part))), new Headers(), seals)
const says = (field: string, part: object) => ({
  model: 'acme/one',
  max_tokens: 9,
  [field]: [{ role: 'user', content: [part] }],
})

test.each([
  [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } }, true, 4],
  [{ type: 'document', source: { type: 'url', url: 'https://example.org/a.pdf' } }, true, 0],
  [{ type: 'document', source: { type: 'text', media_type: 'text/plain', data } }, undefined, 0],
] as const)('messages: %j', (part, isUnbounded, fileBytes) => {
  const request = askMessages(part)
  expect([request.isUnbounded, request.fileBytes ?? 0]).toEqual([isUnbounded, fileBytes])
})

test.each([
  [{ type: 'input_file', filename: 'a.pdf', file_data: data }, true, 4],
  [{ type: 'input_file', file_url: 'https://example.org/a.pdf' }, true, 0],
  [{ type: 'input_audio', input_audio: { data, format: 'wav' } }, true, 4],
  [{ type: 'input_video', video_url: 'https://example.org/a.mp4' }, true, 0],
  [{ type: 'input_text', text: data }, undefined, 0],
] as const)('responses: %j', (part, isUnbounded, fileBytes) => {
  const request = askResponses(part)
  expect([request.isUnbounded, request.fileBytes ?? 0]).toEqual([isUnbounded, fileBytes])
})
