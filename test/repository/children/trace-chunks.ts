// Preloaded before the program's chunks: writes down the name of each one that is loaded.
import { appendFileSync } from 'node:fs'
import { basename } from 'node:path'
import { plugin } from 'bun'

const trace = process.env['CHUNK_TRACE'] ?? ''

await plugin({
  name: 'trace-chunks',
  setup(build) {
    build.onLoad({ filter: /\/(?:main|chunk-\w+)\.js$/ }, async ({ path }) => {
      appendFileSync(trace, `${basename(path)}\n`)
      return { contents: await Bun.file(path).text(), loader: 'js' }
    })
  },
})
