/**
 * Part `open-loop`: what the gateway adds to an answer where requests arrive at a rate and not by replies, at half and at four fifths
 * of what it can serve; beside the bare proxy at the same rate, the provider asked by TLS.
 */
import { type Comparison, contenderOf, contest } from './compare.ts'
import { type AnswerRoute, type Effort, openRig } from './rig.ts'

const ROUTE: AnswerRoute = { name: 'words', type: 'openai-compatible', stream: false }
const SHARES = [0.5, 0.8]
/** More requests than are ever under way at such rates. */
const CONNECTIONS = 512
/** With so many its rate is found out. */
const BUSY_CONNECTIONS = 256
const MOST_ADDED_P99_MICROS = 1_000

/** Measures and prints; false where the p99 is longer than the bare proxy's by more than the limit. */
export async function openLoop({ rounds, seconds }: Effort): Promise<boolean> {
  const rig = await openRig([ROUTE], true)
  try {
    const contenders = {
      bare: contenderOf(rig, 'bare', ROUTE),
      gateway: contenderOf(rig, 'gateway', ROUTE),
    }
    const busy = await contest(
      { gateway: contenders.gateway },
      { connections: BUSY_CONNECTIONS, rounds, until: { seconds } },
    )
    const most = busy.of('gateway', 'rps')
    console.log(`by TLS the gateway serves ${most.toFixed(0)} requests a second`)
    let isKept = true
    for (const share of SHARES) {
      const rate = Math.round(most * share)
      const figures = await contest(contenders, {
        connections: CONNECTIONS,
        rounds,
        until: { seconds, rate },
      })
      const added = figures.difference('p99Micros', 'gateway', 'bare')
      const isWithin = added <= MOST_ADDED_P99_MICROS
      isKept &&= isWithin
      console.log(
        `  ${100 * share} %, ${rate} a second: bare ${said(figures, 'bare')}   gateway ${said(figures, 'gateway')}   ` +
          `added p99 ${millis(added)} ms, at most ${millis(MOST_ADDED_P99_MICROS)}: ${isWithin ? 'kept' : 'BROKEN'}`,
      )
    }
    return isKept
  } finally {
    await rig.close()
  }
}

const millis = (micros: number): string => (micros / 1_000).toFixed(2)

const said = (figures: Comparison<'bare' | 'gateway'>, which: 'bare' | 'gateway'): string =>
  `p50 ${millis(figures.of(which, 'p50Micros'))}, p99 ${millis(figures.of(which, 'p99Micros'))} ms, ${(100 * figures.of(which, 'busy')).toFixed(0)} % of its core`
