// Bun inlines NODE_ENV as "development" unless told; React would then ship, and run, twice its size.
import { readFileSync, writeFileSync } from 'node:fs'
import { BINARY, compile } from '../compile.ts'

/** A warning that only React's development build contains. */
const DEVELOPMENT_ONLY = 'Each child in a list should have a unique'
/** A sentence of its production build, to know that React is in there at all. */
const PRODUCTION_ONLY = 'Minified React error #'

/** Passes when the recipe inlines "production" and the binary carries React's production build only. */
export async function shipsProduction(scratch: string): Promise<string> {
  const entry = `${scratch}/which.ts`
  const outfile = `${scratch}/which`
  writeFileSync(entry, 'process.stdout.write(String(process.env.NODE_ENV))\n')
  await compile({ entry, outfile })
  const env = { NODE_ENV: 'development' }
  const inlined = Bun.spawnSync([outfile], { cwd: scratch, env }).stdout.toString()
  if (inlined !== 'production') throw new Error(`NODE_ENV is inlined as "${inlined}"`)

  const bytes = readFileSync(BINARY)
  if (bytes.includes(DEVELOPMENT_ONLY)) throw new Error("React's development build is inside")
  if (!bytes.includes(PRODUCTION_ONLY)) throw new Error('React is not inside: this checks nothing')
  return 'NODE_ENV is inlined as production, React is its production build'
}
