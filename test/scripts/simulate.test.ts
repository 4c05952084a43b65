// The gateway's own code under a scheduler, with faults by the seed: it keeps its promises, and a simulation that finds nothing would find a bug.
import { describe, expect, test } from 'vitest'
import { PLANTS } from '#scripts/simulate/plants.ts'
import { FULL } from '#test/support/tier.ts'

const SEEDS = FULL ? 200 : 3
/** Within which a planted bug is found. */
const MOST_SEEDS = 200
/** Of all: one of the processes and one of the nodes, which are found at once. */
const PLANTED = FULL ? Object.keys(PLANTS) : ['released-twice', 'settlement-lost']
const TIMEOUT_MS = 600_000

async function simulate(
  ...args: string[]
): Promise<{ readonly status: number; readonly said: string }> {
  const run = Bun.spawn([process.execPath, 'scripts/simulate.ts', ...args], { stderr: 'pipe' })
  const [out, error] = await Promise.all([run.stdout.text(), run.stderr.text()])
  // What it took is no part of what happened.
  return { status: await run.exited, said: (out + error).replace(/[\d.]+ s of CPU/, '') }
}

test(
  'every promise is kept, whatever fails',
  async () => {
    const { status, said } = await simulate('--seeds', `${SEEDS}`)
    expect(said).toContain(': 0 failed')
    expect(status).toBe(0)
  },
  TIMEOUT_MS,
)

test(
  'the model of PostgreSQL answers as the other engine does',
  async () => {
    const { status, said } = await simulate('--compare', '--seeds', `${SEEDS}`)
    // Refused by every limit, or nearly.
    expect(
      said.match(/_limit|balance_usd|kept|running|other_body|stale|admitted/g)?.length,
    ).toBeGreaterThan(12)
    expect(said).toContain(': 0 failed')
    expect(status).toBe(0)
  },
  TIMEOUT_MS,
)

test(
  'a seed is the same run again',
  async () => {
    const { said } = await simulate('--seed', '1')
    expect(said).toMatch(/^digest [0-9a-f]{8}$/m)
    expect((await simulate('--seed', '1')).said).toBe(said)
  },
  TIMEOUT_MS,
)

describe('a planted bug is found', () => {
  test.each(PLANTED)(
    '%s',
    async (name) => {
      const { status, said } = await simulate('--seeds', `${MOST_SEEDS}`, '--plant', name)
      expect(said).toMatch(/seed \d+ breaks its promises/)
      expect(status).toBe(1)
    },
    TIMEOUT_MS,
  )
})
