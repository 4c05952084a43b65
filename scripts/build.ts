// Builds the whole appliance into one file: `bun scripts/build.ts [--target linux-arm64 [--runtime BUN]]`.
import { parseArgs } from 'node:util'
import { compile } from './compile.ts'

const { values } = parseArgs({
  options: {
    target: { type: 'string' },
    outfile: { type: 'string' },
    runtime: { type: 'string' },
  },
})

const built = await compile(values)
process.stderr.write(
  `built ${built.outfile} (${(built.bytes / 1e6).toFixed(1)} MB, ${built.tookMs} ms)\n`,
)
