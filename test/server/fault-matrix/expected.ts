/** The expected results of the fault matrix: for each fault, by route and by kind of answer. */
import type { Fault, Kind } from './faults.ts'

export const ROUTES = ['one hop', 'two hops', 'no fallbacks'] as const

export type Route = (typeof ROUTES)[number]

export interface Cell {
  /** The status and the error code, also of an error inside a stream. */
  readonly answer: string
  readonly retryAfter: string | null
  readonly shouldRetry: string | null
  readonly came: 'all' | 'some' | 'nothing'
  /** The outcome of every failed attempt. */
  readonly failed: string
  readonly charge: 'all' | 'what came' | 'nothing'
}

/** `one hop` by kind; unlike a text, an image is tried once, and its error tells the client not to retry. */
interface Row {
  readonly answer: string
  readonly retryAfter?: string
  /** Set also where no image was requested. */
  readonly shouldRetry?: 'false'
  /** The outcome of each attempt at a text. */
  readonly whole: string
  readonly stream: string
  readonly image: string
}

// A provider that answered nothing, or a bad status, is tried once more for a text. Once it has begun a good answer, it is
// not; and a time-out has already taken all the time that a client waits. A stream that has begun is charged for what arrived.
const ONE_HOP: Readonly<Record<Fault, Row>> = {
  refused: row('502 upstream_error', 'failed failed', 'failed failed', 'failed'),
  reset: row('502 upstream_error', 'failed failed', 'failed failed', 'failed'),
  '500': row('502 upstream_error', 'failed failed', 'failed failed', 'failed'),
  // Its Retry-After is longer than the gateway waits for any provider.
  '503 + Retry-After': row('502 upstream_error', 'failed', 'failed', 'failed'),
  '529': {
    ...row(
      '503 upstream_overloaded',
      'overloaded overloaded',
      'overloaded overloaded',
      'overloaded',
    ),
    retryAfter: '5',
  },
  '429 for good': {
    ...row('503 upstream_overloaded', 'overloaded', 'overloaded', 'overloaded'),
    retryAfter: '5',
    shouldRetry: 'false',
  },
  garbage: row('502 upstream_error', 'failed', 'failed', 'failed'),
  empty: row('502 upstream_error', 'failed', 'failed', 'failed'),
  'stall before a byte': row('504 upstream_timeout', 'timeout', 'timeout', 'timeout'),
  'stall in the middle': row('504 upstream_timeout', 'timeout', 'timeout', 'timeout'),
  'reset in the middle': row('502 upstream_error', 'failed', 'failed', 'failed'),
  'error inside 200': row('502 upstream_error', 'failed', 'failed', 'failed'),
}

function row(answer: string, whole: string, stream: string, image: string): Row {
  return { answer, whole, stream, image }
}

const BEGUN: ReadonlySet<Fault> = new Set(['stall in the middle', 'reset in the middle'])

/** What the test expects to see. */
export function expected(fault: Fault, route: Route, kind: Kind): Cell {
  const { answer, retryAfter, shouldRetry, ...attempts } = ONE_HOP[fault]
  const failed = attempts[kind]
  const code = answer.split(' ')[1]
  if (kind === 'stream' && BEGUN.has(fault)) {
    // Content has arrived: no fallback is allowed, and the error can only be sent inside the stream.
    const told = route === 'no fallbacks' ? 'upstream_error' : code
    return cell(`200 ${told}`, null, null, 'some', failed, 'what came')
  }
  const [first = ''] = failed.split(' ')
  if (route === 'two hops') return cell('200', null, null, 'all', first, 'all')
  const isOnce = route === 'no fallbacks'
  return cell(
    isOnce ? '502 upstream_error' : answer,
    isOnce ? null : (retryAfter ?? null),
    kind === 'image' ? 'false' : (shouldRetry ?? null),
    'nothing',
    isOnce ? first : failed,
    'nothing',
  )
}

const cell = (
  answer: string,
  retryAfter: string | null,
  shouldRetry: string | null,
  came: Cell['came'],
  failed: string,
  charge: Cell['charge'],
): Cell => ({ answer, retryAfter, shouldRetry, came, failed, charge })
