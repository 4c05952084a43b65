/** Opens the store of the directory named first and keeps it open until it is killed. */
import { openStore } from '#db/index.ts'
import { systemClock } from '#domain/clock.ts'

const dataDir = process.argv[2] ?? ''
await openStore({ dataDir, clock: systemClock })
// Nobody refers to the store any more: the lock must not be collected with it.
Bun.gc(true)
process.stdout.write('open\n')
setInterval(() => {}, 60_000)
