/** The request log of a serving process: a line per request on standard output, written in batches. */
import { GatewayError, toldOf } from '#domain/errors.ts'
import { dollars } from '#domain/money.ts'
import type { RequestLine, RequestLog } from '#http/request-log.ts'
import type { Context } from '../context.ts'
import { clean, escapeControls, toJson } from '../terminal/clean.ts'
import { logLine } from '../terminal/log-line.ts'
import { writeError, writeOut } from '../terminal/streams.ts'

export interface ServeLog {
  readonly note: RequestLog
  /** Takes lines that are JSON already; null where people read them. */
  readonly writeLines: ((json: string) => void) | null
  /** Reports a failure outside any request, with the id that a page shows a person for it. */
  readonly fault: (cause: unknown, errorId?: string) => void
  readonly flush: () => void
}

/** One write costs more than its lines, so they are batched; the lasting record is the activity log. */
const BATCH_MS = 50

/** `isPretty` is about requests; the context knows whether failures are lines of JSON too. */
export function startRequestLog({ clock, isJsonLog }: Context, isPretty: boolean): ServeLog {
  let waiting = ''
  const flush = (): void => {
    if (waiting !== '') writeOut(waiting)
    waiting = ''
  }
  const write = (text: string): void => {
    if (waiting === '') setTimeout(flush, BATCH_MS)
    waiting += text
  }
  return {
    note: (line) => write(`${isPretty ? pretty(line) : toJson(line, 0)}\n`),
    writeLines: isPretty ? null : (json) => write(escapeControls(json)),
    fault(cause, errorId) {
      const fault = stackOf(cause)
      writeError(
        isJsonLog
          ? logLine(clock, 'error', 'fault', { fault, ...(errorId && { error_id: errorId }) })
          : `fault: ${errorId ? `${errorId} ` : ''}${fault}\n`,
      )
    },
    flush,
  }
}

/** Message, stack and causes; Bun.inspect would also print source code. */
function stackOf(cause: unknown): string {
  if (!(cause instanceof Error)) return Bun.inspect(cause)
  const { name, message } = cause
  const told = cause instanceof GatewayError ? toldOf(cause) : message
  const stack = (cause.stack ?? `${name}: ${message}`).replace(message, () => told)
  return cause.cause === undefined ? stack : `${stack}\ncaused by: ${stackOf(cause.cause)}`
}

/** "12:40:58Z 200 demo/echo  0.21s  $0.000021  req_…" */
function pretty(line: RequestLine): string {
  const time = line.ts.slice(11, 19)
  const cost = line.cost_usd === null ? '' : dollars(line.cost_usd)
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
