/** The bell: how many notices nobody has seen, and the page of the latest. */
import type { NoticeRecord } from '#operator/notices.ts'
import { clean } from '../../terminal/clean.ts'
import { timeOfDay } from '../figures.ts'
import { type Line, type Piece, styled } from '../line.ts'
import { exactly, rule, type Scene } from '../scene.ts'

/** In the header; nothing where all were seen. */
export function bell({ snapshot: { notices } }: Scene): readonly Piece[] {
  if (notices.unseen === 0) return []
  const [worst] = notices.latest.filter(({ seen_at }) => seen_at === null)
  const isCritical = worst?.severity === 'critical'
  return [styled(`! ${notices.unseen} n `, isCritical ? 'red' : 'yellow')]
}

const TONES = { critical: 'red', warning: 'yellow', info: 'green' } as const

export function noticesBody(scene: Scene, height: number): readonly Line[] {
  const { latest } = scene.snapshot.notices
  const { glyphs, snapshot } = scene
  const whose = snapshot.gateway.accounts < 2 ? '' : ` ${glyphs.dot} all accounts`
  const title = rule(scene, `notices${whose}`, `newest first ${glyphs.dot} any key goes back`)
  const lines = latest.flatMap((one) => linesOf(scene, one))
  const list = lines.length === 0 ? [[styled('   nothing was told yet', 'dim')]] : lines
  return [title, ...exactly(list, height - 1)]
}

/** When, how bad and what; below it what ends it, while it goes on. */
function linesOf({ glyphs }: Scene, notice: NoticeRecord): readonly Line[] {
  const { raised_at, severity, message, hint, state, seen_at } = notice
  const mark = seen_at === null ? glyphs.cursor : ' '
  const head: Line = [
    styled(` ${mark} ${raised_at.slice(0, 10)} ${timeOfDay(raised_at)} `),
    styled(severity.padEnd(9), TONES[severity]),
    styled(clean(message), state === 'open' ? 'bold' : 'dim'),
  ]
  return state === 'open' ? [head, [styled(`${' '.repeat(23)}${clean(hint)}`, 'cyan')]] : [head]
}
