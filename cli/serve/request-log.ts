/** The request log of a serving process: a line per request on standard output, written in batches. */
import type { RequestLine, RequestLog } from '#http/request-log.ts'
import { clean } from '../terminal/clean.ts'

export interface ServeLog {
  readonly note: RequestLog
  /** What broke outside any request. */
  readonly fault: (cause: unknown) => void
  readonly flush: () => void
}

/** A write costs more than its lines, and nobody reads faster than this; the activity log is what must not be lost. */
const BATCH_MS = 50

/** A log that nobody reads any more, or that finds no room, is no reason to end, nor to say so with every line. */
const forget = (): void => {}

export function startRequestLog(isPretty: boolean): ServeLog {
  process.stdout.on('error', forget)
  process.stderr.on('error', forget)
  let waiting = ''
  const flush = (): void => {
    if (waiting !== '') process.stdout.write(waiting)
    waiting = ''
  }
  return {
    note(line) {
      if (waiting === '') setTimeout(flush, BATCH_MS)
      waiting += `${isPretty ? pretty(line) : JSON.stringify(line)}\n`
    },
    fault(cause) {
      process.stderr.write(`fault: ${stackOf(cause)}\n`)
    },
    flush,
  }
}

/** Its words and where it was thrown, with what caused it; the runtime's own words would show the program's text as well. */
function stackOf(cause: unknown): string {
  if (!(cause instanceof Error)) return Bun.inspect(cause)
  const stack = cause.stack ?? `${cause.name}: ${cause.message}`
  return cause.cause === undefined ? stack : `${stack}\ncaused by: ${stackOf(cause.cause)}`
}

/** "12:40:58Z 200 demo/echo  0.21s  $0.000021  req_…" */
function pretty(line: RequestLine): string {
  const time = line.ts.slice(11, 19)
  const cost = line.cost_usd === null ? '' : `$${line.cost_usd}`
  const words = [
    `${time}Z`,
    String(line.status),
    (line.model ?? line.route).padEnd(24),
    `${(line.total_ms / 1000).toFixed(2)}s`.padStart(8),
    cost.padStart(12),
    line.code ?? '',
    line.request_id,
  ]
  return clean(words.filter((word) => word !== '').join(' '))
}
