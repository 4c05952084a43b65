/** The page of one key or one provider: all that the snapshot has of it, with its own requests below. */
import { instant, readInstant } from '#domain/clock.ts'
import type { LogRecord, ProviderTrafficRecord } from '#operator/snapshot/record.ts'
import { describeTrouble } from '../../providers/describe-trouble.ts'
import { count, elapsed, percent } from '../figures.ts'
import { type Line, styled } from '../line.ts'
import { providerOf } from '../lists.ts'
import { exactly, rule, type Scene } from '../scene.ts'
import { tabs } from './head.ts'
import { keyDetail } from './keys.ts'
import { logTable } from './log.ts'
import { ceilingLines } from './trend.ts'

export function keyPage(scene: Scene, id: string, height: number): readonly Line[] {
  const key = scene.snapshot.keys.rows.find((row) => row.id === id)
  if (key === undefined) {
    return [tabs(scene), ...exactly([rule(scene, id, 'not among the keys shown here')], height - 1)]
  }
  const ceilings = ceilingLines(scene, key)
  const head: readonly Line[] = [
    tabs(scene),
    ...keyDetail(scene, key),
    ...(ceilings.length === 0 ? [] : [rule(scene, 'ceilings'), ...ceilings]),
  ]
  return withRequests(scene, head, height, ({ key_id }) => key_id === id)
}

export function providerPage(scene: Scene, name: string, height: number): readonly Line[] {
  const provider = providerOf(scene.snapshot, name)
  if (provider === undefined) {
    return [tabs(scene), ...exactly([rule(scene, name, 'removed')], height - 1)]
  }
  const head = [tabs(scene), ...providerFields(scene, provider)]
  return withRequests(
    scene,
    head,
    height,
    (one) => one.provider === name || one.attempts.some((attempt) => attempt.provider === name),
  )
}

const TITLE_COLUMNS = 12

const field = (title: string, text: string): Line => [
  styled(` ${title.padEnd(TITLE_COLUMNS)}`, 'dim'),
  styled(text),
]

function providerFields(scene: Scene, one: ProviderTrafficRecord): readonly Line[] {
  const { glyphs, snapshot } = scene
  const { health } = one
  const failed = one.failed.map(
    ({ status, count: many }) => `${many} ${glyphs.times} ${status ?? 'no answer'}`,
  )
  const models = snapshot.models.filter(({ providers }) => providers.includes(one.name))
  return [
    rule(scene, `${one.name}  ${one.type}`, one.state),
    field(
      'health',
      health.rests_until === null ? health.state : `${health.state} until ${health.rests_until}`,
    ),
    ...one.credentials.map((each) =>
      field(
        'credential',
        `${each.credential} ${describeTrouble(each, readInstant(snapshot.at) ?? instant(0))}`,
      ),
    ),
    field('failures', `${health.failures_in_a_row} in a row`),
    field('served', `${percent(one.served_percent, glyphs.none)} of the last 5 min`),
    field('p95', one.p95_ms === null ? glyphs.none : elapsed(one.p95_ms)),
    field('requests', `${count(one.requests)}, ${count(one.in_flight)} in flight`),
    field('failed', failed.join(` ${glyphs.dot} `) || glyphs.none),
    field(
      'models',
      `${count(one.models)} of its own; lately ${models.map(({ model }) => model).join(', ') || glyphs.none}`,
    ),
  ]
}

/** The newest of its requests fill the page. */
function withRequests(
  scene: Scene,
  head: readonly Line[],
  height: number,
  isOf: (one: LogRecord) => boolean,
): readonly Line[] {
  const room = Math.max(0, height - head.length - 1)
  const own = scene.snapshot.log.filter(isOf)
  return exactly(
    [
      ...head,
      rule(
        scene,
        'requests',
        `${Math.min(Math.max(0, room - 1), own.length)} of ${own.length} ${scene.glyphs.dot} newest first`,
      ),
      ...logTable(scene, own.slice(0, Math.max(0, room - 1))),
    ],
    height,
  )
}
