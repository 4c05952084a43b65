// Prints numbered lines, the last ones while the first are still on their way, then a line on standard error.
import { writeError, writeOut } from '#cli/terminal/streams.ts'

const [lines] = process.argv.slice(2).map(Number)
writeOut(Array.from({ length: lines ?? 0 }, (_, n) => `${n}\n`).join(''))
writeOut('last\n')
writeError('done\n')
