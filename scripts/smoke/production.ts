// Bun inlines NODE_ENV as "development" unless told; React would then ship, and run, twice its size.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { compile } from '../compile.ts'

const REACT = fileURLToPath(import.meta.resolve('react'))

/** Passes when the recipe inlines "production" and takes React's production build, which has no `act`. */
export async function shipsProduction(scratch: string): Promise<string> {
  const entry = `${scratch}/which.ts`
  const outfile = `${scratch}/which`
  const told = "process.stdout.write(process.env.NODE_ENV + ' ' + typeof React.act)"
  writeFileSync(entry, `import * as React from ${JSON.stringify(REACT)}\n${told}\n`)
  await compile({ entry, outfile })
  const env = { NODE_ENV: 'development' }
  const said = Bun.spawnSync([outfile], { cwd: scratch, env }).stdout.toString()
  if (said !== 'production undefined') throw new Error(`NODE_ENV and React.act are "${said}"`)
  return 'NODE_ENV is inlined as production, React is its production build'
}
