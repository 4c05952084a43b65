/** Part `requests`: requests per second and CPU per request, for a short whole answer and a short stream. */
import { type Comparison, compare } from './compare.ts'
import type { AnswerRoute, Effort, Part } from './house.ts'
import { residentMebibytes } from './process.ts'

const WHOLE: AnswerRoute = { name: 'words', type: 'openai-compatible', stream: false }
const STREAM: AnswerRoute = { name: 'few-chunks', type: 'openai-compatible', stream: true }

export const requests: Part = {
  answers: [WHOLE, STREAM],
  async run(house, effort) {
    const memory = (): string =>
      `gateway ${residentMebibytes(house.gateway.pid).toFixed(0)} MiB, ` +
      `bare ${residentMebibytes(house.bare.pid).toFixed(0)} MiB`
    console.log(`at rest: ${memory()}`)
    for (const [kind, route] of [
      ['whole', WHOLE],
      ['stream', STREAM],
    ] as const) {
      const until = { seconds: effort.seconds }
      print(kind, effort, await compare(house, route, { ...effort, until }))
    }
    console.log(`\nafter:   ${memory()}`)
    console.log(house.doctor())
    return true
  },
}

function print(
  kind: string,
  { connections, rounds, seconds }: Effort,
  figures: Comparison<'bare' | 'gateway'>,
): void {
  const row = (which: 'bare' | 'gateway'): string => {
    const millis = (figure: 'p50Micros' | 'p99Micros'): string =>
      (figures.of(which, figure) / 1000).toFixed(2)
    return (
      `${which.padEnd(9)}${figures.of(which, 'rps').toFixed(0).padStart(8)} req/s ` +
      `${figures.of(which, 'cpuMicros').toFixed(0).padStart(6)} µs CPU/req   ` +
      `p50 ${millis('p50Micros')} ms   p99 ${millis('p99Micros')} ms`
    )
  }
  console.log(`\n${kind}: ${connections} connections, ${rounds} rounds of ${seconds} s`)
  console.log(`  ${row('bare')}`)
  console.log(`  ${row('gateway')}`)
  console.log(
    `  gateway / bare: requests per second ${figures.ratio('rps').toFixed(2)}, ` +
      `CPU per request ${figures.ratio('cpuMicros').toFixed(2)}`,
  )
}
