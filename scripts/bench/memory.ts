/** Part `memory`: a thousand answers with images after a warm-up; fails when what is resident grows beyond its bound. */
import { median } from './compare.ts'
import { IMAGE_ROUTES } from './image.ts'
import { load } from './load.ts'
import { residentMebibytes } from './process.ts'
import type { AnswerRoute, Part, Rig } from './rig.ts'

const HUNDREDS = 10
const MAX_GROWTH_MIB = 64
/** Of each shape. */
const CONNECTIONS = 3
const SAMPLE_MS = 10
/** The runtime collects its garbage about ten seconds after the last request; until then megabytes of it lie about. */
const REST_MS = 20_000

export const memory: Part = {
  answers: IMAGE_ROUTES,
  async run(rig) {
    const resident = (): number => residentMebibytes(rig.gateway.pid)
    const rest = async (): Promise<number> => {
      await Bun.sleep(REST_MS)
      return resident()
    }
    const atStart = resident()
    await drawHundred(rig)
    const before = await rest()
    const middles: number[] = []
    while (middles.length < HUNDREDS) middles.push(await drawHundred(rig))
    const after = await rest()

    // Under load garbage comes and goes in waves, so it is the middle of the waves that must not rise.
    const half = HUNDREDS / 2
    const underLoad = median(middles.slice(half)) - median(middles.slice(0, half))
    const growth = Math.max(after - before, underLoad)
    const isFlat = growth <= MAX_GROWTH_MIB
    console.log(`\n${HUNDREDS} × 100 answers of 2 MB: MiB resident`)
    console.log(
      `  at rest: at start ${inWhole(atStart)}, after the warm-up ${inWhole(before)}, at the end ${inWhole(after)}`,
    )
    console.log(`  under load, the middle of each hundred: ${middles.map(inWhole).join(' ')}`)
    console.log(
      `  growth ${inWhole(growth)}, at most ${MAX_GROWTH_MIB}: ${isFlat ? 'flat' : 'GROWING'}`,
    )
    return isFlat
  },
}

const inWhole = (mebibytes: number): string => mebibytes.toFixed(0)

/** Draws a hundred images, a third of them in each shape; answers what was resident in the middle of it. */
async function drawHundred(rig: Rig): Promise<number> {
  const samples: number[] = []
  const sampler = setInterval(() => samples.push(residentMebibytes(rig.gateway.pid)), SAMPLE_MS)
  const answers = Math.ceil(100 / IMAGE_ROUTES.length)
  const draw = (route: AnswerRoute) => load(rig.target('gateway', route), CONNECTIONS, { answers })
  const results = await Promise.all(IMAGE_ROUTES.map(draw)).finally(() => clearInterval(sampler))
  if (results.some(({ bad }) => bad > 0)) throw new Error('an answer was not 200')
  return median(samples)
}
