/** A picture of bars, stacked where there are groups: SVG from the server, sized by the page. Its numbers are in a table beside it. */
import { html } from 'hono/html'
import type { Html } from '#pages/html.ts'

export interface Bar {
  /** "2026-11-24" */
  readonly label: string
  /** One for each group, from below. */
  readonly values: readonly number[]
  /** Shown by the browser where it is pointed at. */
  readonly says: string
}

const WIDTH = 800
const HEIGHT = 160
const FOOT = 20
const GAP = 0.3

/** `label` is heard in place of the picture. */
export function bars(label: string, all: readonly Bar[]): Html {
  const most = Math.max(...all.map(({ values }) => sum(values)), Number.MIN_VALUE)
  const step = WIDTH / Math.max(1, all.length)
  const width = Math.min(40, step * (1 - GAP))
  const every = Math.ceil(all.length / 8)
  return html`<figure>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT + FOOT}" role="img" aria-label="${label}">
<line class="axis" x1="0" x2="${WIDTH}" y1="${HEIGHT}" y2="${HEIGHT}"/>
${all.map((bar, place) => {
  const left = place * step + (step - width) / 2
  return html`<g><title>${bar.says}</title>${stack(bar.values, most, left, width)}<rect x="${round(place * step)}" y="0" width="${round(step)}" height="${HEIGHT}" fill="transparent"/></g>
${place % every === 0 && html`<text class="tick" x="${round(left)}" y="${HEIGHT + 15}">${bar.label.slice(5)}</text>`}`
})}
</svg>
</figure>`
}

function stack(
  values: readonly number[],
  most: number,
  left: number,
  width: number,
): readonly Html[] {
  let below = 0
  return values.map((value, group) => {
    const height = (value / most) * (HEIGHT - 8)
    below += height
    return html`<rect class="bar-${Math.min(5, group + 1)}" x="${round(left)}" y="${round(HEIGHT - below)}" width="${round(width)}" height="${round(height)}" rx="1.5"/>`
  })
}

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0)
const round = (value: number): number => Math.round(value * 100) / 100

/** The names of the groups, in the colours of the bars. */
export const legend = (names: readonly string[]): Html => html`<ul class="legend">
${names.map((name, group) => html`<li><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="bar-${Math.min(5, group + 1)}" width="10" height="10" rx="2"/></svg><bdi>${name}</bdi></li>`)}
</ul>`
