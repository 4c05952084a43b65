// Prints numbered lines as a server does, then creates a file; the last line follows once the reader has caught up.
import { writeFileSync } from 'node:fs'
import { openOutlets, outletsDrained, writeOut } from '#cli/terminal/streams.ts'

const [lines, printed = ''] = process.argv.slice(2)
const PIECE = 1_000
openOutlets({ out: (lost) => `lost ${lost}\n`, error: (lost) => `lost ${lost}\n` })
for (let first = 0; first < Number(lines); first += PIECE) {
  writeOut(Array.from({ length: PIECE }, (_, n) => `${first + n}\n`).join(''))
  await Bun.sleep(0)
}
writeFileSync(printed, '')
await outletsDrained()
writeOut('last\n')
