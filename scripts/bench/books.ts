/** The data directories of part `scale`: an empty one, and one with a month of requests. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { type FilledKey, openFiller } from './fill.ts'
import type { LoadTarget } from './load.ts'
import type { Measured } from './process.ts'
import { type AnswerRoute, bodyFor, furnish } from './rig.ts'

const ROUTE: AnswerRoute = { name: 'words', type: 'openai-compatible', stream: false }
/** Of each directory's keys so many ask in turn. */
export const ASKING_KEYS = 1_000
export const FULL_LIMIT = 100_000
export const FULL_USED = 99_000
export const SHORT_USED = 10
/** Keys with a window that is nearly full: one for each time that its first use is measured. */
const FULL_KEYS = 5
/** Out of reach of whatever a round sends. */
const UNREACHABLE_LIMIT = 1_000_000_000

export interface Past {
  /** Of all keys together. */
  readonly rows: number
  readonly keys: number
}

/** A directory and the keys to ask with. */
export interface Books {
  readonly dataDir: string
  readonly asking: readonly FilledKey[]
  /** At their limit but for a thousand. */
  readonly full: readonly FilledKey[]
  /** As many requests in its window, and a short one, both with a limit out of reach. */
  readonly long: FilledKey
  readonly short: FilledKey
}

/** Furnishes a directory and fills it, and says how large it became. */
export function openBooks(dataDir: string, mock: string, { rows, keys }: Past): Books {
  const begin = performance.now()
  furnish(dataDir, mock, [ROUTE])
  const filler = openFiller(dataDir)
  const ordinary = filler.issue(keys, UNREACHABLE_LIMIT)
  filler.spend(ordinary, rows)
  const full = filler.issue(FULL_KEYS, FULL_LIMIT)
  const [long, short] = filler.issue(2, UNREACHABLE_LIMIT)
  if (!long || !short) throw new Error('no keys')
  if (rows > 0) for (const key of [...full, long]) filler.spendToday(key, FULL_USED)
  if (rows > 0) filler.spendToday(short, SHORT_USED)
  filler.close()
  // What the system still had to write would be written while others are measured.
  Bun.spawnSync(['sync'])
  const seconds = (performance.now() - begin) / 1000
  const bytes = statSync(join(dataDir, 'gateway.db')).size
  console.log(
    `filled: ${keys} keys, ${rows} requests, ${(bytes / 2 ** 20).toFixed(0)} MiB in ${seconds.toFixed(0)} s`,
  )
  // From all over the directory, as chance would have it.
  const asking = ordinary.filter((_, n) => n % Math.ceil(keys / ASKING_KEYS) === 0)
  return { dataDir, asking, full, long, short }
}

/** A question that these keys ask in turn. */
export const targetOf = ({ origin }: Measured, keys: readonly FilledKey[]): LoadTarget => ({
  origin,
  path: '/v1/chat/completions',
  keys: keys.map(({ secret }) => secret),
  body: bodyFor(ROUTE),
})
