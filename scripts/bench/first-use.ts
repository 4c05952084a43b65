/** After a restart, the first request of a key whose window is nearly full, while another key asks one by one. */
import { type Books, FULL_LIMIT, FULL_USED, targetOf } from './books.ts'
import { load } from './load.ts'
import { startGateway } from './rig.ts'

/** How long it may delay other keys, beyond the usual noise of the machine. */
const MAX_PAUSE_MS = 20
const CONNECTIONS = 32
/** Asked for beyond what is left of the window. */
const TOO_MANY = 100

/** Measures and prints; false when it holds others up, or when the window does not admit exactly what is left of it. */
export async function firstUse({ dataDir, asking, full }: Books): Promise<boolean> {
  const firstMs: number[] = []
  const pauseMs: number[] = []
  const baselineMs: number[] = []
  let isExact = true
  for (const key of full) {
    const gateway = await startGateway(dataDir)
    try {
      const other = targetOf(gateway, asking.slice(0, 1))
      await load(other, 1, { seconds: 0.5 })
      baselineMs.push((await load(other, 1, { seconds: 0.5 })).longestMicros / 1000)
      const others = load(other, 1, { seconds: 0.5 })
      await Bun.sleep(100)
      const first = await load(targetOf(gateway, [key]), 1, { answers: 1 })
      firstMs.push(first.p50Micros / 1000)
      pauseMs.push((await others).longestMicros / 1000)
      const free = FULL_LIMIT - FULL_USED - 1
      const rest = await load(targetOf(gateway, [key]), CONNECTIONS, { answers: free + TOO_MANY })
      isExact &&= first.bad === 0 && rest.bad === TOO_MANY
    } finally {
      await gateway.stop()
    }
  }
  const millis = (of: readonly number[]): string => of.map((one) => one.toFixed(1)).join(' ')
  // A pause of ours is there every time; the machine's own come and go.
  const isShort = Math.min(...pauseMs) - Math.min(...baselineMs) <= MAX_PAUSE_MS
  console.log(
    `\nfirst use of a window with ${FULL_USED} of ${FULL_LIMIT}, after a restart: ms, ${full.length} times`,
  )
  console.log(`  its answer:              ${millis(firstMs)}`)
  console.log(`  longest of another key:  ${millis(pauseMs)} (${isShort ? 'kept' : 'BROKEN'})`)
  console.log(`  the same without it:     ${millis(baselineMs)}`)
  console.log(`  then what is left is served, and no more: ${isExact ? 'exactly' : 'NOT EXACT'}`)
  return isShort && isExact
}
