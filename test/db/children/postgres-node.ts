/** Opens the database of that path and name as the node `b`, takes the one place of a key, and lives until it is killed. */
import { openPostgres } from '#db/postgres/store.ts'
import { systemClock } from '#domain/clock.ts'
import type { KeyId } from '#domain/id.ts'
import { aClaim, usd } from '#test/support/nouns.ts'

const [path = '', database = '', id = ''] = process.argv.slice(2)
const address = { hosts: [{ path }], username: 'postgres', database }
const store = await openPostgres({ address, clock: systemClock, node: 'b' })
const key = await store.keys.find(id as KeyId)
if (key === undefined) throw new Error(`there is no key ${id}`)
const claim = { ...aClaim(key, systemClock.now(), usd('0.5')), owner: store.owner }
const verdict = await store.admissions.admit(claim)
if (verdict === 'stale' || !verdict.admitted) throw new Error('not admitted')
process.stdout.write(`admitted ${claim.generationId}\n`)
setInterval(() => {}, 60_000)
