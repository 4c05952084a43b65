/** The bell: how many notices nobody has seen, and the page of the latest. */
import type { NoticeRecord } from '#operator/notices.ts'
import { clean } from '../../terminal/clean.ts'
import { timeOfDay } from '../figures.ts'
import { type Line, type Piece, styled } from '../line.ts'
import { hiddenOf, type Scene, textPage } from '../scene.ts'

/** In the header; nothing where all were seen. */
export function bell({ snapshot: { notices } }: Scene): readonly Piece[] {
  if (notices.unseen === 0) return []
  const [worst] = notices.latest.filter(({ seen_at }) => seen_at === null)
  const isCritical = worst?.severity === 'critical'
  return [styled(`! ${notices.unseen} n `, isCritical ? 'red' : 'yellow')]
}

const TONES = { critical: 'red', warning: 'yellow', info: 'green' } as const

export function noticesBody(scene: Scene, height: number): readonly Line[] {
  const { gateway } = scene.snapshot
  const whose = gateway.accounts < 2 ? '' : ` ${scene.glyphs.dot} all accounts`
  return textPage(scene, `notices${whose}`, 'newest first', noticeLines(scene), height)
}

type Page = Pick<Scene, 'glyphs' | 'snapshot'>

export const hiddenNotices = (page: Page, height: number): number =>
  hiddenOf(noticeLines(page), height)

function noticeLines(page: Page): readonly Line[] {
  const lines = page.snapshot.notices.latest.flatMap((one) => linesOf(page, one))
  return lines.length === 0 ? [[styled('   nothing was told yet', 'dim')]] : lines
}

/** When, how bad and what; below it what ends it, while it goes on. */
function linesOf({ glyphs }: Page, notice: NoticeRecord): readonly Line[] {
  const { raised_at, severity, message, hint, state, seen_at } = notice
  const mark = seen_at === null ? glyphs.cursor : ' '
  const head: Line = [
    styled(` ${mark} ${raised_at.slice(0, 10)} ${timeOfDay(raised_at)} `),
    styled(severity.padEnd(9), TONES[severity]),
    styled(clean(message), state === 'open' ? 'bold' : 'dim'),
  ]
  return state === 'open' ? [head, [styled(`${' '.repeat(23)}${clean(hint)}`, 'cyan')]] : [head]
}
