/** One request in full: its state while it runs, or its record in the log. */
import type { InFlightRecord, LogRecord } from '#operator/snapshot/record.ts'
import { withTypedFlags } from '../../terminal/typed-flags.ts'
import { count, elapsed } from '../figures.ts'
import { type Line, styled } from '../line.ts'
import { findEnded, findRunning } from '../lists.ts'
import { cash, exactly, rule, type Scene } from '../scene.ts'
import type { Page } from '../view.ts'
import { tabs } from './head.ts'

type DetailPage = Extract<Page, { readonly kind: 'detail' }>

export function detailBody(
  scene: Scene,
  { id, record: seen }: DetailPage,
  height: number,
): readonly Line[] {
  const { snapshot } = scene
  const one = findRunning(snapshot, id)
  const record = findEnded(snapshot, id) ?? seen
  const lines =
    one !== undefined
      ? running(scene, one)
      : record !== undefined
        ? ended(scene, record)
        : gone(scene, id)
  return [tabs(scene), ...exactly(withItsEnd(lines, height - 1), height - 1)]
}

/** Where not all lines fit, the last one stays: it says what else can be done with the request. */
function withItsEnd(lines: readonly Line[], height: number): readonly Line[] {
  const last = lines.at(-1)
  if (last === undefined || lines.length <= height) return lines
  return [
    ...lines
      .filter((line) => line.length > 0)
      .slice(0, -1)
      .slice(0, height - 1),
    last,
  ]
}

const TITLE_COLUMNS = 14

const field = (title: string, text: string | null): Line => [
  styled(` ${title.padEnd(TITLE_COLUMNS)}`, 'dim'),
  styled(text ?? '–'),
]

const ms = (value: number | null): string | null => (value === null ? null : elapsed(value))
const counted = (value: number | null): string | null => (value === null ? null : count(value))

/** Its line in the log is on its way, or no longer among those shown here. */
const gone = (scene: Scene, id: string): readonly Line[] => [
  rule(scene, id, 'ended'),
  receiptLine(scene, id),
]

const receiptLine = ({ typed }: Scene, id: string): Line => [
  styled(` ${withTypedFlags(`gatewayctl activity show ${id}`, typed)}`, 'dim'),
]

const surfaceOf = ({ surface, session }: InFlightRecord | LogRecord): string =>
  session === null ? surface : `${surface}, session ${session}`

function running(scene: Scene, one: InFlightRecord): readonly Line[] {
  return [
    rule(scene, one.id, one.state),
    field('request id', one.request_id),
    field('key', `${one.key_name}  ${one.key_id}`),
    field('user', one.user),
    field('surface', surfaceOf(one)),
    field('model', one.model),
    field('provider', one.provider),
    ...(one.node === null ? [] : [field('node', one.node)]),
    field('stream', one.stream === null ? null : one.stream ? 'yes' : 'no'),
    field('arrived', one.arrived_at),
    field('elapsed', elapsed(one.elapsed_ms)),
    field('first byte', ms(one.first_byte_ms)),
    field('tokens in', counted(one.prompt_tokens)),
    field('tokens out', counted(one.completion_tokens)),
    field('tokens/s', one.tokens_per_second === null ? null : String(one.tokens_per_second)),
    field(
      'cost so far',
      one.cost_usd === null ? null : `${cash(scene, one.cost_usd, 6)} (an estimate until it ends)`,
    ),
    field('failed hops', counted(one.failed_attempts)),
    [],
    [styled(' x ends it: output so far is charged, its client gets an error', 'dim')],
  ]
}

function ended(scene: Scene, one: LogRecord): readonly Line[] {
  const attempts = one.attempts.map(({ provider, model, outcome, status, reason, ms: took }) =>
    field(
      'attempt',
      `${provider} ${model} ${status ?? ''} ${outcome} ${elapsed(took)} ${reason ?? ''}`,
    ),
  )
  return [
    rule(scene, one.id, `${one.status} ${one.code ?? one.ended_by}`),
    field('request id', one.request_id),
    field('key', `${one.key_name}  ${one.key_id}`),
    field('user', one.user),
    field('surface', surfaceOf(one)),
    field('model', one.model),
    field(
      'provider',
      one.credential === null ? one.provider : `${one.provider}, credential ${one.credential}`,
    ),
    ...(one.node === null ? [] : [field('node', one.node)]),
    field('arrived', one.created_at),
    field('queued', elapsed(one.queued_ms)),
    field('first byte', ms(one.first_byte_ms)),
    field('total', elapsed(one.total_ms)),
    field(
      'ended by',
      `${one.ended_by}${one.finish_reason === null ? '' : `, ${one.finish_reason}`}`,
    ),
    field('tokens', `${count(one.prompt_tokens)} in, ${count(one.completion_tokens)} out`),
    field('images', one.images === 0 ? null : count(one.images)),
    field('cost', `${cash(scene, one.cost_usd, 6)}  usage source ${one.usage_source ?? 'none'}`),
    ...attempts,
    ...(one.message === null ? [] : [field('message', one.message)]),
    [],
    receiptLine(scene, one.id),
  ]
}
