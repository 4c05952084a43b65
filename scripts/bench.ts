/**
 * The bench: what the compiled gateway, with all its accounting, costs beside a bare Bun.serve and fetch proxy that passes
 * the same bytes through, interleaved in one run. Only the ratios mean anything; machines differ.
 *
 *     npm run build && npm run bench -- [PART…] [--rounds 5] [--seconds 2] [--connections 32]
 *     npm run build && npm run bench -- scale [--rows 10000000] [--keys 100000]
 *
 * Parts: requests, translate, picture, memory, streams; all of these where none is named. And scale, which is not about a proxy: it
 * fills six gigabytes first. Exits 1 when a part finds its limit broken.
 */
import { parseArgs } from 'node:util'
import { type Effort, openHouse, type Part } from './bench/house.ts'
import { memory } from './bench/memory.ts'
import { picture } from './bench/picture.ts'
import { requests } from './bench/requests.ts'
import { scale } from './bench/scale.ts'
import { streams } from './bench/streams.ts'
import { translate } from './bench/translate.ts'

const BESIDE_PROXY: Readonly<Record<string, Part>> = {
  requests,
  translate,
  picture,
  memory,
  streams,
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '32' },
    rows: { type: 'string', default: '10000000' },
    keys: { type: 'string', default: '100000' },
  },
})
const effort = {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  connections: Number(values.connections),
  rows: Number(values.rows),
  keys: Number(values.keys),
}

for (const name of positionals.length > 0 ? positionals : Object.keys(BESIDE_PROXY)) {
  const part = BESIDE_PROXY[name]
  if (!part && name !== 'scale') {
    throw new Error(`no part ${name}; there are: ${Object.keys(BESIDE_PROXY).join(', ')}, scale`)
  }
  console.log(`\n# ${name}`)
  if (!(await (part ? runBesideProxy(part, effort) : scale(effort)))) process.exitCode = 1
}

/** Every part has processes of its own, so that it measures the same alone and among the others. */
async function runBesideProxy(part: Part, effort: Effort): Promise<boolean> {
  const house = await openHouse(part.answers)
  try {
    return await part.run(house, effort)
  } finally {
    await house.close()
  }
}
