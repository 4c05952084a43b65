/** What requests for embeddings and for rerank have in common. */
import type { z } from 'zod'
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Extra } from '#domain/extras.ts'
import { OWN_FIELDS, type Work } from '#domain/work.ts'
import { noteExtras } from './billed-extras.ts'
import {
  type CommonFields,
  checkModels,
  type NamesEndUser,
  readEndUser,
  readFallbacks,
  readRouting,
  toInvalidRequest,
} from './read-common.ts'

/** @throws invalid_request */
export function readForm<Form extends z.ZodType>(form: Form, fields: JsonObject): z.output<Form> {
  const parsed = form.safeParse(fields)
  if (parsed.success) return parsed.data
  throw toInvalidRequest(fields, parsed.error.issues)
}

type Shared = Pick<Work, 'model' | 'body' | 'endUser' | 'allowFallbacks' | 'routing' | 'extras'>

/** `exact`: the body with long integers as they were sent. @throws invalid_request, unsupported_parameter */
export function readShared(read: CommonFields & NamesEndUser, exact: JsonObject): Shared {
  checkModels(read)
  const extras: Extra[] = []
  noteExtras(exact, extras)
  if (read.stream) {
    throw new GatewayError(
      'invalid_request',
      'stream: this answer is never streamed: leave it out',
      {
        param: 'stream',
      },
    )
  }
  const routing = readRouting(read)
  return {
    model: read.model,
    body: toForwardedBody(exact),
    endUser: readEndUser(read),
    allowFallbacks: readFallbacks(read),
    ...(routing && { routing }),
    ...(extras.length > 0 && { extras }),
  }
}

/** Null means absent: client libraries send it for options that are not set. */
const toForwardedBody = (fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([name, value]) => isKept(name, value)))

const isKept = (name: string, value: unknown): boolean =>
  value !== null && name !== 'stream' && name !== '__proto__' && !OWN_FIELDS.includes(name)
