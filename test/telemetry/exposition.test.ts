import { expect, test } from 'vitest'
import { renderFamilies } from '#telemetry/exposition.ts'
import { counter, gauge, one } from '#telemetry/metric-families.ts'

test('families are rendered in the text format 0.0.4, and what a label may hold is escaped', () => {
  const labels = { model: 'a"b\\c\nd', key: '' }
  const series = [{ labels: { model: 'm' }, bounds: [0.01, 0.02], cumulative: [1, 1, 3], sum: 2.5 }]
  const histogram = { name: 'took_seconds', help: 'Time', type: 'histogram', series } as const
  const text = renderFamilies([
    counter('asked_total', 'With \\ and\na line', [{ labels, value: 3 }]),
    gauge('nothing', 'Not rendered', []),
    gauge('balance_usd', 'Left', one(-1.5e-9)),
    histogram,
  ])
  expect(text).toBe(`# HELP asked_total With \\\\ and\\na line
# TYPE asked_total counter
asked_total{model="a\\"b\\\\c\\nd",key=""} 3

# HELP balance_usd Left
# TYPE balance_usd gauge
balance_usd -1.5e-9

# HELP took_seconds Time
# TYPE took_seconds histogram
took_seconds_bucket{le="0.01",model="m"} 1
took_seconds_bucket{le="0.02",model="m"} 1
took_seconds_bucket{le="+Inf",model="m"} 3
took_seconds_sum{model="m"} 2.5
took_seconds_count{model="m"} 3
`)
})
