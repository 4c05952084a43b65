/** Renders metrics in Prometheus's text format 0.0.4. */
import type { HistogramFamily, Labels, MetricFamily } from './metric-families.ts'

/** The text of a scrape. */
export const renderFamilies = (families: readonly (MetricFamily | HistogramFamily)[]): string =>
  `${families
    .filter((family) => family.type === 'histogram' || family.samples.length > 0)
    .map(renderFamily)
    .join('\n\n')}\n`

function renderFamily(family: MetricFamily | HistogramFamily): string {
  const { name, help, type } = family
  const lines =
    family.type === 'histogram'
      ? renderHistogram(family)
      : family.samples.map(({ labels, value }) => toLine(name, labels, value))
  return [
    `# HELP ${name} ${help.replace(/[\\\n]/g, escaped)}`,
    `# TYPE ${name} ${type}`,
    ...lines,
  ].join('\n')
}

const renderHistogram = ({ name, series }: HistogramFamily): readonly string[] =>
  series.flatMap(({ labels, bounds, cumulative, sum }) => [
    ...cumulative.map((value, n) =>
      toLine(`${name}_bucket`, { le: String(bounds[n] ?? '+Inf'), ...labels }, value),
    ),
    toLine(`${name}_sum`, labels, sum),
    toLine(`${name}_count`, labels, cumulative.at(-1) ?? 0),
  ])

function toLine(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(
    ([label, text]) => `${label}="${text.replace(/[\\"\n]/g, escaped)}"`,
  )
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`
}

const escaped = (character: string): string => (character === '\n' ? '\\n' : `\\${character}`)
