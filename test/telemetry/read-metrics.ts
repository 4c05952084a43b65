/** Parses Prometheus's text format independently of the gateway: just enough to look up a sample. */

interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Metrics {
  samples(name: string): readonly Sample[]
  /** The sum of all samples that have at least these labels; throws when there is none. */
  value(name: string, labels: Readonly<Record<string, string>>): number
  sum(name: string): number
}

export function readMetrics(text: string): Metrics {
  const all = new Map<string, Sample[]>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const [, name = '', labels = '', value] = /^([a-z_:]+)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? []
    if (value === undefined) throw new Error(`not a sample: ${line}`)
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)]
    const sample = {
      labels: Object.fromEntries(pairs.map(([, key, quoted]) => [key, quoted] as const)),
      value: Number(value),
    }
    all.set(name, [...(all.get(name) ?? []), sample])
  }
  const samples = (name: string): readonly Sample[] => all.get(name) ?? []
  const total = (of: readonly Sample[]): number => of.reduce((sum, { value }) => sum + value, 0)
  return {
    samples,
    value(name, labels) {
      const fitting = samples(name).filter((sample) =>
        Object.entries(labels).every(([key, wanted]) => sample.labels[key] === wanted),
      )
      if (fitting.length === 0) throw new Error(`no sample ${name} ${JSON.stringify(labels)}`)
      return total(fitting)
    },
    sum: (name) => total(samples(name)),
  }
}
