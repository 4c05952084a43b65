/** Finds message, code and status in an error of any known shape: in an envelope, flat, a list, nested, plain text. */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readText } from '#domain/json.ts'

/** An error in the provider's own words. */
export interface Problem {
  readonly message?: string | undefined
  readonly code?: string | undefined
  readonly type?: string | undefined
  readonly status?: number | undefined
  readonly param?: string | undefined
}

/** OpenRouter wraps another provider's error in its own, possibly several times. */
const DEEPEST = 5
const MAX_DETAILS = 5

/** `value` is an error's body, as text or parsed. */
export function readProblem(value: unknown, depth = 0): Problem {
  if (depth > DEEPEST) return {}
  if (typeof value === 'string') return readProblemText(value, depth)
  if (Array.isArray(value)) return readProblemList(value, depth)
  return isObject(value) ? readProblemObject(value, depth) : {}
}

function readProblemText(text: string, depth: number): Problem {
  const trimmed = text.trim()
  if (/^[[{"]/.test(trimmed)) {
    try {
      return readProblem(JSON.parse(trimmed), depth + 1)
    } catch {
      // Not JSON after all.
    }
  }
  // An HTML page comes from a proxy and is not passed on.
  return trimmed === '' || trimmed.startsWith('<') ? {} : { message: trimmed }
}

function readProblemObject(object: JsonObject, depth: number): Problem {
  const { error, message, detail } = object
  const outer: Problem = {
    message: typeof message === 'string' ? readText(message) : undefined,
    code: readCode(object['code']),
    type: readCode(object['type']),
    status: readStatus(object['status'] ?? object['status_code'] ?? object['code']),
    param: readParam(object['param']),
  }
  const nested = readRaw(object['metadata'])
  const inner = error ?? nested ?? (isObject(message) ? message : undefined) ?? detail
  if (inner === undefined || inner === null) return outer
  const found = readProblem(inner, depth + 1)
  return {
    message: found.message ?? outer.message,
    code: found.code ?? outer.code,
    type: found.type ?? outer.type,
    // The outer status is the one that this provider answered with.
    status: outer.status ?? found.status,
    param: found.param ?? outer.param,
  }
}

const readRaw = (metadata: unknown): unknown =>
  isObject(metadata) ? (metadata['raw'] ?? undefined) : undefined

/** A list of validation errors, or a list around one error (Google's OpenAI-compatible API). */
function readProblemList(list: readonly unknown[], depth: number): Problem {
  const message = readDetails(list)
  return message === undefined && isObject(list[0]) ? readProblem(list[0], depth + 1) : { message }
}

/** A list of validation errors with their locations (Mistral, FastAPI). */
function readDetails(details: readonly unknown[]): string | undefined {
  const lines = details.slice(0, MAX_DETAILS).flatMap((detail) => {
    if (!isObject(detail)) return typeof detail === 'string' ? [detail] : []
    const text = readText(detail['msg']) ?? readText(detail['message'])
    if (text === undefined) return []
    const place = Array.isArray(detail['loc']) ? `${detail['loc'].join('.')}: ` : ''
    return [place + text]
  })
  return lines.length > 0 ? lines.join('; ') : undefined
}

/** A code is one word; some providers send a sentence or the status. */
function readCode(value: unknown): string | undefined {
  if (typeof value === 'number') return readStatus(value) === undefined ? String(value) : undefined
  return typeof value === 'string' && /^[\w.:-]{1,64}$/.test(value) ? value : undefined
}

/** A path such as `messages[0].content`; sentences are ignored. */
const readParam = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[\w.[\]-]{1,128}$/.test(value) ? value : undefined

function readStatus(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && number >= 400 && number <= 599 ? number : undefined
}
