// Builds the whole appliance into one file: `bun scripts/build.ts [--target linux-arm64 [--runtime BUN]]`.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { compile } from './compile.ts'

const { values } = parseArgs({
  options: {
    target: { type: 'string' },
    outfile: { type: 'string' },
    runtime: { type: 'string' },
    /** Where to write down which packages are in it. */
    packages: { type: 'string' },
  },
})

const built = await compile(values)
if (values.packages !== undefined) {
  writeFileSync(values.packages, JSON.stringify(built.packages))
}
process.stderr.write(
  `built ${built.outfile} (${(built.bytes / 1e6).toFixed(1)} MB, ${built.tookMs} ms)\n`,
)
