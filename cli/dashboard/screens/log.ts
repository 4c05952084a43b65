/** Screen 5: the last requests, or only failed ones. */
import { CLIENT_CLOSED_REQUEST } from '#domain/activity.ts'
import type { LogRecord } from '#operator/snapshot/record.ts'
import type { Tone } from '../../terminal/tone.ts'
import { brief, elapsed, timeOfDay } from '../figures.ts'
import { type Line, styled } from '../line.ts'
import { LOG, windowOf } from '../lists.ts'
import {
  amount,
  type Column,
  exactly,
  NARROW_COLUMNS,
  type Scene,
  signOf,
  table,
} from '../scene.ts'
import { shortCode } from '../short-code.ts'
import { countsLine, tabs } from './head.ts'

export function logBody(scene: Scene, height: number): readonly Line[] {
  const room = height - 2
  const { rows, place } = windowOf(LOG, scene.snapshot, scene.view, 'log', room - 1)
  const list =
    rows.length === 0
      ? [[], [styled('   nothing to show', 'dim')]]
      : table(scene, columnsFor(scene), rows, place)
  const which = scene.view.errorsOnly ? 'errors only (e)' : 'all (e: errors only)'
  return [tabs(scene), ...exactly(list, room), countsLine(scene, [styled(`${which} `, 'dim')])]
}

/** Requests on the page of something else, without a cursor. */
export const logTable = (scene: Scene, rows: readonly LogRecord[]): readonly Line[] =>
  table(scene, columnsFor(scene), rows, -1)

const statusTone = ({ status }: LogRecord): Tone | undefined =>
  status >= 500 ? 'red' : status >= 400 && status !== CLIENT_CLOSED_REQUEST ? 'yellow' : undefined

/** From this width on there is room for the surface. */
const SURFACE_COLUMNS = 140

function columnsFor(scene: Scene): readonly Column<LogRecord>[] {
  const { glyphs, size } = scene
  const isWide = size.columns >= 110
  const isNarrow = size.columns < NARROW_COLUMNS
  const endedColumns = isWide ? 20 : 9
  const right = (
    title: string,
    width: number,
    text: (row: LogRecord) => string,
  ): Column<LogRecord> => ({ title, width, right: true, text })
  return [
    { title: 'TIME', width: 8, text: ({ created_at }) => timeOfDay(created_at), tone: () => 'dim' },
    { title: 'ST', width: 3, text: ({ status }) => String(status), tone: statusTone },
    { title: 'KEY', width: isWide ? 14 : 11, text: ({ key_name }) => key_name },
    { title: 'MODEL', width: 0, text: ({ model }) => model },
    ...(size.columns >= SURFACE_COLUMNS
      ? [{ title: 'SURFACE', width: 10, text: ({ surface }: LogRecord) => surface }]
      : []),
    ...(isWide ? [{ title: 'USER', width: 8, text: (row: LogRecord) => row.user ?? '' }] : []),
    right('TOTAL', 6, ({ total_ms }) => elapsed(total_ms)),
    ...(isWide
      ? [
          right('TTFT', 6, ({ first_byte_ms: first }) =>
            first === null ? glyphs.none : elapsed(first),
          ),
        ]
      : []),
    ...(isNarrow
      ? []
      : [
          right('IN', 5, ({ prompt_tokens }) => brief(prompt_tokens)),
          right('OUT', 5, ({ completion_tokens }) => brief(completion_tokens)),
        ]),
    right(`COST ${signOf(scene)}`, 7, ({ cost_usd }) => amount(scene, cost_usd, 4)),
    ...(isNarrow
      ? []
      : [
          {
            title: 'ENDED',
            width: endedColumns,
            text: ({ code, ended_by }: LogRecord) => shortCode(code ?? ended_by, endedColumns),
          },
        ]),
  ]
}
