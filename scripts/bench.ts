/**
 * The bench: what the compiled gateway, with all its accounting, costs beside a bare Bun.serve and fetch proxy that passes
 * the same bytes through, and beside others, interleaved in one run. Only the ratios mean anything; machines differ.
 *
 *     npm run build && npm run bench -- [PART…] [--rounds 5] [--seconds 2] [--connections 32]
 *     npm run build && npm run bench -- matrix [--connections 1,32,256,1000] [--prompts 1,50] [--kinds whole,stream,paced,held]
 *                                              [--only gateway,nginx] [--portkey DIR] [--before BINARY]
 *     npm run build && npm run bench -- pairs --before BINARY [--pairs 15] [--connections 1,32,256] [--prompts 1] [--kinds whole]
 *     npm run build && npm run bench -- postgres [--rounds 5] [--seconds 2] [--connections 1,8,64]
 *     npm run build && npm run bench -- scale [--rows 10000000] [--keys 100000]
 *     npm run build && npm run bench -- cabinet [--rows 1000000] [--keys 1000]
 *
 * Parts: matrix, floor, translate, surfaces, image, memory, streams, open-loop; all of these where none is named. And, where they are named:
 * processes, several that share one store; postgres, nodes that share a database; pairs, this binary beside an earlier one; scale, which fills six gigabytes first, and
 * cabinet, which fills half a one. Exits 1 when a part finds its limit broken.
 */
import { parseArgs } from 'node:util'
import type { Past } from './bench/books.ts'
import { cabinet } from './bench/cabinet.ts'
import { floor } from './bench/floor.ts'
import { image } from './bench/image.ts'
import { KINDS } from './bench/matrix/cells.ts'
import { SUBJECT_NAMES } from './bench/matrix/subjects.ts'
import { type MatrixEffort, matrix } from './bench/matrix.ts'
import { memory } from './bench/memory.ts'
import { openLoop } from './bench/open-loop.ts'
import { pairs } from './bench/pairs.ts'
import { postgres } from './bench/postgres.ts'
import { stayOn } from './bench/process.ts'
import { processes } from './bench/processes.ts'
import { type Effort, LOAD_CORE, openRig, type Part } from './bench/rig.ts'
import { scale } from './bench/scale.ts'
import { streams } from './bench/streams.ts'
import { surfaces } from './bench/surfaces.ts'
import { translate } from './bench/translate.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string' },
    connections: { type: 'string' },
    prompts: { type: 'string', default: '1,50' },
    kinds: { type: 'string', default: 'whole,stream,paced,held' },
    only: { type: 'string', default: '' },
    portkey: { type: 'string' },
    before: { type: 'string' },
    pairs: { type: 'string', default: '15' },
    rows: { type: 'string' },
    keys: { type: 'string' },
  },
})
const rounds = Number(values.rounds)
const effort: Effort = {
  rounds,
  seconds: Number(values.seconds ?? 2),
  connections: Number(values.connections ?? 32),
}
const wide: MatrixEffort = {
  rounds,
  seconds: Number(values.seconds ?? 1),
  connections: listed(values.connections ?? '1,32,256,1000').map(Number),
  promptKilobytes: listed(values.prompts).map(Number),
  kinds: listed(
    values.kinds,
    KINDS.map(({ name }) => name),
  ),
  only: listed(values.only, SUBJECT_NAMES),
  portkeyDir: values.portkey,
  before: values.before,
}

const PARTS: Readonly<Record<string, () => Promise<boolean>>> = {
  matrix: () => matrix(wide),
  floor: () => besideProxy(floor),
  translate: () => besideProxy(translate),
  surfaces: () => besideProxy(surfaces),
  image: () => besideProxy(image),
  memory: () => besideProxy(memory),
  streams: () => besideProxy(streams),
  'open-loop': () => openLoop(effort),
  processes: () => processes(effort),
  postgres: () =>
    postgres({ ...effort, connections: listed(values.connections ?? '1,8,64').map(Number) }),
  pairs: () => pairs({ ...wide, pairs: Number(values.pairs), before: earlier() }),
  scale: () => scale({ ...effort, ...past(10_000_000, 100_000) }),
  cabinet: () => cabinet({ ...effort, ...past(1_000_000, 1_000) }),
}
const ONLY_NAMED = ['processes', 'postgres', 'pairs', 'scale', 'cabinet']
const UNASKED = Object.keys(PARTS).filter((name) => !ONLY_NAMED.includes(name))

stayOn(LOAD_CORE)
for (const name of positionals.length > 0 ? positionals : UNASKED) {
  const run = PARTS[name]
  if (!run) throw new Error(`no part ${name}; there are: ${Object.keys(PARTS).join(', ')}`)
  console.log(`\n# ${name}`)
  if (!(await run())) process.exitCode = 1
}

/** @throws Error where none is named */
function earlier(): string {
  if (values.before === undefined) throw new Error('--before BINARY: the earlier one')
  return values.before
}

/** As it is asked for, else so long. */
function past(rows: number, keys: number): Past {
  return { rows: Number(values.rows ?? rows), keys: Number(values.keys ?? keys) }
}

/** Every part has processes of its own, so that it measures the same alone and among the others. */
async function besideProxy(part: Part): Promise<boolean> {
  const rig = await openRig(part.answers)
  try {
    return await part.run(rig, effort)
  } finally {
    await rig.close()
  }
}

/** @throws Error on a word that is none of these */
function listed(text: string, known?: readonly string[]): readonly string[] {
  const words = text.split(',').filter(Boolean)
  for (const word of words) {
    if (known && !known.includes(word)) throw new Error(`${word} is none of ${known.join(', ')}`)
  }
  return words
}
