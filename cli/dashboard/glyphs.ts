/** Bars, sparklines and marks, in Unicode, or in ASCII for terminals without it. */
import type { Level } from '#operator/snapshot/record.ts'

export interface Glyphs {
  readonly full: string
  readonly empty: string
  /** From the lowest to the highest. */
  readonly steps: readonly string[]
  readonly rule: string
  readonly wall: string
  readonly down: string
  readonly up: string
  readonly right: string
  readonly cursor: string
  readonly served: string
  readonly degraded: string
  readonly off: string
  readonly near: string
  readonly over: string
  readonly none: string
  readonly ruble: string
  readonly times: string
  readonly dot: string
  readonly arrows: string
  readonly enter: string
  readonly states: Readonly<Record<string, string>>
}

export const UNICODE: Glyphs = {
  full: '█',
  empty: '░',
  steps: ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
  rule: '─',
  wall: '│',
  down: '↓',
  up: '↑',
  right: '→',
  cursor: '▸',
  served: '●',
  degraded: '◐',
  off: '○',
  near: '!',
  over: '✖',
  none: '–',
  ruble: '₽',
  times: '×',
  dot: '·',
  arrows: '↑↓',
  enter: '⏎',
  states: {
    queued: '‖',
    streaming: '≋',
    waiting: '·',
    image: '▣',
    opening: '…',
    retrying: '↻',
    elsewhere: '→',
  },
}

export const ASCII: Glyphs = {
  full: '#',
  empty: '.',
  steps: ['.', ':', '-', '=', '+', '*', '#', '%', '@'],
  rule: '-',
  wall: '|',
  down: 'v',
  up: '^',
  right: '->',
  cursor: '>',
  served: '*',
  degraded: '~',
  off: 'o',
  near: '!',
  over: 'x',
  none: '-',
  ruble: 'RUB',
  times: 'x',
  dot: '-',
  arrows: 'up/down',
  enter: 'enter',
  states: {
    queued: '~',
    streaming: '=',
    waiting: '-',
    image: '#',
    opening: '.',
    retrying: '@',
    elsewhere: '>',
  },
}

/** ASCII on request, and for a locale with another encoding than UTF-8; without a locale, Unicode. */
export function glyphsFor(
  env: Readonly<Record<string, string | undefined>>,
  wantsAscii: boolean,
): Glyphs {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || ''
  const isUtf8 = locale === '' || /utf-?8/i.test(locale)
  return wantsAscii || env['GATEWAY_ASCII'] || !isUtf8 ? ASCII : UNICODE
}

/** A bar filled to `percent`; above 0 it has at least one block, and the last block is filled only at 100. */
export function bar(glyphs: Glyphs, percent: number, width: number): string {
  const share = Math.min(100, Math.max(0, percent)) / 100
  const blocks = share === 1 ? width : Math.min(width - 1, Math.ceil(share * width))
  return glyphs.full.repeat(blocks) + glyphs.empty.repeat(width - blocks)
}

/** A sparkline scaled to its highest point; where there are more points than columns, neighbours are averaged. */
export function curve(glyphs: Glyphs, points: readonly (number | null)[], width: number): string {
  const drawn = squeeze(points, width)
  const most = Math.max(...drawn.map((point) => point ?? 0))
  const { steps } = glyphs
  const last = steps.length - 1
  return drawn
    .map((point) => {
      if (point === null) return ' '
      return steps[most === 0 ? 0 : Math.round((point / most) * last)] ?? ''
    })
    .join('')
}

/** The mean of each group of neighbours; a group of nothing but nulls stays null. */
function squeeze(points: readonly (number | null)[], width: number): readonly (number | null)[] {
  if (points.length <= width) return points
  return Array.from({ length: width }, (_, i) => {
    const from = Math.floor((i * points.length) / width)
    const to = Math.max(from + 1, Math.floor(((i + 1) * points.length) / width))
    const known = points.slice(from, to).filter((point) => point !== null)
    return known.length === 0 ? null : known.reduce((sum, one) => sum + one, 0) / known.length
  })
}

export const toneOf = (level: Level): 'red' | 'yellow' | undefined =>
  level === 'full' ? 'red' : level === 'near' ? 'yellow' : undefined
