/** A picture of bars, stacked where there are groups: SVG from the server, stretched by the page. Its numbers are in a table beside it. */
import { type Day, dayStart } from '#domain/clock.ts'
import type { Language } from '#domain/language.ts'
import { type Html, html } from '#pages/html.ts'

export interface Bar {
  readonly day: Day
  /** One for each group, from below. */
  readonly values: readonly number[]
  /** Their sum, as it is written. */
  readonly shown: string
}

const HEIGHT = 100
const STEP = 10
const WIDTH = 7
/** So many days are named, the first and the last among them. */
const TICKS = 5

/** `label` is heard in place of the picture. Each bar says its day and its sum where it is pointed at. */
export function bars(language: Language, label: string, all: readonly Bar[]): Html {
  const highest = all.reduce((most, bar) => (sum(bar.values) > sum(most.values) ? bar : most))
  const most = Math.max(sum(highest.values), Number.MIN_VALUE)
  return html`<figure>
<p class="most" aria-hidden="true">${sum(highest.values) > 0 ? highest.shown : ''}</p>
<svg viewBox="0 0 ${all.length * STEP} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}">
<line class="grid" x1="0" x2="${all.length * STEP}" y1="0" y2="0"/><line class="axis" x1="0" x2="${all.length * STEP}" y1="${HEIGHT}" y2="${HEIGHT}"/>
${all.map(({ day, values, shown }, place) => {
  const left = place * STEP
  return html`<g><title>${dayName(language, day)}: ${shown}</title>${stack(values, most, left + (STEP - WIDTH) / 2)}<rect x="${left}" y="0" width="${STEP}" height="${HEIGHT}" fill="transparent"/></g>`
})}
</svg>
<p class="ticks" aria-hidden="true">${ticksOf(all).map(({ day }) => html`<span>${dayName(language, day)}</span>`)}</p>
</figure>`
}

function stack(values: readonly number[], most: number, left: number): readonly Html[] {
  let below = 0
  return values.map((value, group) => {
    const height = (value / most) * HEIGHT
    below += height
    return html`<rect class="bar-${Math.min(5, group + 1)}" x="${left}" y="${round(HEIGHT - below)}" width="${WIDTH}" height="${round(height)}"/>`
  })
}

function ticksOf(all: readonly Bar[]): readonly Bar[] {
  const count = Math.min(TICKS, all.length)
  const last = all.length - 1
  return Array.from(
    { length: count },
    (_, n) => all[count === 1 ? 0 : Math.round((n * last) / (count - 1))] as Bar,
  )
}

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0)
const round = (value: number): number => Math.round(value * 100) / 100

const FORMATS: Readonly<Record<Language, Intl.DateTimeFormat>> = {
  en: new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' }),
  ru: new Intl.DateTimeFormat('ru', { timeZone: 'UTC', day: 'numeric', month: 'short' }),
}

/** "24 Nov" */
const dayName = (language: Language, day: Day): string => FORMATS[language].format(dayStart(day))

/** The names of the groups, in the colours of the bars. */
export const legend = (names: readonly string[]): Html => html`<ul class="legend">
${names.map((name, group) => html`<li><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="bar-${Math.min(5, group + 1)}" width="10" height="10" rx="2"/></svg><bdi>${name}</bdi></li>`)}
</ul>`
