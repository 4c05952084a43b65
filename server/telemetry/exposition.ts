/** Renders metrics in Prometheus's text format; prom-client is loaded on the first scrape. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { HistogramFamily, MetricFamily, Sample } from './metric-families.ts'

/** Families in the text format 0.0.4. */
export async function renderFamilies(
  families: readonly (MetricFamily | HistogramFamily)[],
): Promise<string> {
  const registry = new Registry()
  for (const family of families) {
    if (family.type === 'histogram') registry.registerMetric(new CountedHistogram(family))
    else if (family.samples.length > 0) register(registry, family)
  }
  return await registry.metrics()
}

function register(registry: Registry, { name, help, type, samples }: MetricFamily): void {
  const labelNames = Object.keys(samples[0]?.labels ?? {})
  const config = { name, help, labelNames, registers: [registry] }
  const metric = type === 'counter' ? new Counter(config) : new Gauge(config)
  for (const { labels, value } of samples) metric.inc(labels, value)
}

/** A histogram with counts made elsewhere: prom-client only accepts single observations. */
class CountedHistogram extends Histogram {
  readonly #family: HistogramFamily

  constructor(family: HistogramFamily) {
    super({ name: family.name, help: family.help, registers: [] })
    this.#family = family
  }

  /** Called by the registry when it renders. */
  async getForPromString() {
    const { name, help, series } = this.#family
    const values = series.flatMap(({ labels, bounds, cumulative, sum }) => [
      ...cumulative.map(
        (value, n): NamedSample => ({
          metricName: `${name}_bucket`,
          labels: { le: String(bounds[n] ?? '+Inf'), ...labels },
          value,
        }),
      ),
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: cumulative.at(-1) ?? 0 },
    ])
    return { name, help, type: 'histogram', values, aggregator: 'sum' }
  }
}

interface NamedSample extends Sample {
  readonly metricName: string
}
