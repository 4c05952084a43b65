/** `gatewayctl activity tail`: requests as they end, until Ctrl-C. */
import { dollars } from '#domain/money.ts'
import type { TailRecord } from '#operator/tail.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT } from '../exit.ts'
import { noGateway, readLines } from '../gateway/operator-lines.ts'
import { clean, toJson } from '../terminal/clean.ts'
import { paint, print, printNote } from '../terminal/output.ts'
import { isReaderGone } from '../terminal/streams.ts'
import { addFilterFlags, type FilterFlags, readFilterFlags } from './filter-flags.ts'

export const mount: Mount = (activity) =>
  addFilterFlags(
    activity
      .command('tail')
      .description(
        'stream requests as they end, until Ctrl-C; --json prints one document per line',
      ),
  ).action(
    action(async (context, flags: FilterFlags) => {
      const sent = Object.entries(readFilterFlags(context, flags)).flatMap(([name, value]) =>
        value === null ? [] : [[name, String(value)] as [string, string]],
      )
      for await (const record of readTurns(context, `/tail?${new URLSearchParams(sent)}`)) {
        if (record !== null) print(toLine(context, record as TailRecord))
        if (isReaderGone()) return
      }
    }),
  )

/** What gateways tell, each from where the one before has ended. @throws CommandError 4 where there is none */
async function* readTurns(context: Context, path: string): AsyncGenerator<unknown, never> {
  const hint = 'gatewayctl serve        past requests: gatewayctl activity list'
  yield* readLines(context, path, noGateway(context, hint))
  for (;;) {
    let isNew = true
    for await (const line of readLines(context, path, stopped)) {
      if (isNew) printNote(context, `! ${TURN}`)
      isNew = false
      yield line
    }
    // One that ends at once is asked again later.
    if (isNew) await Bun.sleep(TURN_MS)
  }
}

const TURN_MS = 250

const TURN =
  'another gateway tells from here on: what has ended in between is in gatewayctl activity list'

const stopped = new CommandError(
  'not_running',
  EXIT.notRunning,
  'the gateway has stopped',
  'gatewayctl status',
)

const toLine = (context: Context, record: TailRecord): string =>
  context.json
    ? toJson(record, 0)
    : context.quiet
      ? record.id
      : context.isTerminal
        ? pretty(context, record)
        : FIELDS.map((field) => clean(String(record[field] ?? ''))).join('\t')

/** For a pipe, in this order. */
const FIELDS = [
  'created_at',
  'status',
  'id',
  'key_name',
  'model',
  'total_ms',
  'prompt_tokens',
  'completion_tokens',
  'cost_usd',
  'code',
  'message',
  'request_id',
] as const satisfies readonly (keyof TailRecord)[]

/** "12:40:58Z 429 ci-evals  openai/gpt-mini  0.00s  rate_limit_exceeded key ci-evals used 60 of 60 … req_7f3a" */
function pretty(context: Context, record: TailRecord): string {
  const { created_at, status, key_name, model, total_ms, cost_usd, code, message } = record
  const color = status < 400 ? 'green' : status < 500 ? 'yellow' : 'red'
  const said = code === null ? dollars(cost_usd) : [code, message].filter(Boolean).join(' ')
  return [
    paint(context, 'dim', `${created_at.slice(11, 19)}Z`),
    paint(context, color, String(status)),
    clean(key_name).padEnd(14),
    clean(model).padEnd(24),
    `${(total_ms / 1_000).toFixed(2)}s`.padStart(7),
    clean(said),
    paint(context, 'dim', clean(record.request_id)),
  ].join(' ')
}
