/** Screen 3: models by today's spend, with latency and error rate; below, the providers. */
import type { ModelTrafficRecord } from '#operator/snapshot/record.ts'
import { brief, count, elapsed, percent } from '../figures.ts'
import { bar } from '../glyphs.ts'
import { type Line, styled } from '../line.ts'
import { MODELS, windowOf } from '../lists.ts'
import {
  amount,
  type Column,
  exactly,
  NARROW_COLUMNS,
  rule,
  type Scene,
  signOf,
  table,
} from '../scene.ts'
import { tabs } from './head.ts'
import { providerLines } from './live.ts'

const PROVIDER_LINES = 6

export function modelsBody(scene: Scene, height: number): readonly Line[] {
  const room = height - 2 - PROVIDER_LINES
  const { rows, place } = windowOf(MODELS, scene.snapshot, scene.view, 'models', room - 1)
  const list =
    rows.length === 0
      ? [[], [styled('   no requests today', 'dim')]]
      : table(scene, columnsFor(scene), rows, place)
  return [
    tabs(scene),
    ...exactly(list, room),
    rule(scene, 'providers', 'last 5 min'),
    ...exactly(providerLines(scene), PROVIDER_LINES),
  ]
}

type Columns = readonly Column<ModelTrafficRecord>[]

function columnsFor(scene: Scene): Columns {
  const { glyphs, size } = scene
  const isWide = size.columns >= 110
  const isNarrow = size.columns < NARROW_COLUMNS
  const ms = (value: number | null): string => (value === null ? glyphs.none : elapsed(value))
  const right = (
    title: string,
    width: number,
    text: (row: ModelTrafficRecord) => string,
  ): Column<ModelTrafficRecord> => ({ title, width, right: true, text })
  const share = ({ share_percent: part }: ModelTrafficRecord): string =>
    isNarrow || part === null
      ? percent(part, '')
      : `${bar(glyphs, part, isWide ? 12 : 4)} ${percent(part, '')}`
  return [
    {
      title: 'MODEL',
      width: 0,
      text: ({ model, aliases }) => (isWide ? [model, ...aliases].join(' = ') : model),
    },
    ...(isWide
      ? [
          {
            title: 'SERVED BY',
            width: 16,
            text: (row: ModelTrafficRecord) => row.providers.join(', '),
          },
        ]
      : []),
    right(isWide ? 'REQ/MIN' : 'R/MIN', isWide ? 7 : 5, (row) => count(row.requests_per_minute)),
    ...(isWide ? [right('NOW', 5, ({ in_flight }) => count(in_flight))] : []),
    ...(isNarrow ? [] : [right('P50', 6, ({ p50_ms }) => ms(p50_ms))]),
    right('P95', 6, ({ p95_ms }) => ms(p95_ms)),
    ...(isNarrow
      ? []
      : [
          right('TTFT', 6, (row) => ms(row.first_byte_p50_ms)),
          right('TOK/S', 5, ({ tokens_per_second: rate }) =>
            rate === null ? glyphs.none : brief(rate),
          ),
        ]),
    {
      ...right('ERR%', 4, ({ error_percent }) =>
        error_percent === null ? glyphs.none : String(error_percent),
      ),
      tone: ({ error_percent }) => ((error_percent ?? 0) >= 1 ? 'yellow' : undefined),
    },
    right(`TODAY ${signOf(scene)}`, 8, ({ spend_day_usd }) => amount(scene, spend_day_usd)),
    { title: 'SHARE', width: isWide ? 20 : isNarrow ? 6 : 11, text: share },
  ]
}
