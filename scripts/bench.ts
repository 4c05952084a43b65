/**
 * The bench: what the compiled gateway, with all its accounting, costs beside a bare Bun.serve and fetch proxy that passes
 * the same bytes through, interleaved in one run. Only the ratios mean anything; machines differ.
 *
 *     npm run build && npm run bench -- [PART…] [--rounds 5] [--seconds 2] [--connections 32]
 *
 * Parts: requests, translate, picture, memory; all of them where none is named. Exits 1 when a part finds its limit broken.
 */
import { parseArgs } from 'node:util'
import type { Part } from './bench/house.ts'
import { openHouse } from './bench/house.ts'
import { memory } from './bench/memory.ts'
import { picture } from './bench/picture.ts'
import { requests } from './bench/requests.ts'
import { translate } from './bench/translate.ts'

const PARTS: Readonly<Record<string, Part>> = { requests, translate, picture, memory }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '32' },
  },
})
const effort = {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  connections: Number(values.connections),
}

for (const name of positionals.length > 0 ? positionals : Object.keys(PARTS)) {
  const part = PARTS[name]
  if (!part) throw new Error(`no part ${name}; there are: ${Object.keys(PARTS).join(', ')}`)
  // Every part has processes of its own, so that it measures the same alone and among the others.
  const house = await openHouse(part.answers)
  try {
    console.log(`\n# ${name}`)
    if (!(await part.run(house, effort))) process.exitCode = 1
  } finally {
    await house.close()
  }
}
