/**
 * Serves requests that may be repeated until it is killed, and leaves one answer staged. It prints `begun <name> <generation>`
 * before each admission, `staged <name>`, and `settled <name>`, a promise that must outlive it.
 */
import { writeSync } from 'node:fs'
import { openStore } from '#db/index.ts'
import { systemClock } from '#domain/clock.ts'
import { MAX_PIECE_BYTES } from '#domain/idempotency.ts'
import type { UsdNanos } from '#domain/money.ts'
import { newSecret } from '#domain/secret.ts'
import { aRepeat, beginAnswer } from '#test/support/keep-answer.ts'
import { aKey, anAccount, anAct, aTopUp } from '#test/support/nouns.ts'

const WORKERS = 4
const [dataDir = '', round = ''] = process.argv.slice(2)
const clock = systemClock
const store = await openStore({ dataDir, clock, serves: true })

const key = aKey(clock.now(), {}, { id: `key_${round}` })
if (round === '0') {
  await store.accounts.create(anAccount(), anAct())
  await store.ledger.credit(aTopUp(clock.now(), 1_000_000_000n as UsdNanos), anAct())
}
await store.keys.issue(key, newSecret(), anAct())

const say = (line: string): void => {
  writeSync(1, `${line}\n`)
}

async function begin(name: string, bytes: number) {
  const stated = { repeat: aRepeat(name), body: new Uint8Array(bytes) }
  const begun = await beginAnswer(store, key, clock.now(), stated)
  say(`begun ${name} ${begun.claim.generationId}`)
  return begun
}

async function serve(worker: number): Promise<never> {
  for (let n = 0; ; n++) {
    const name = `${worker}.${n}`
    const { stage, end } = await begin(name, n % 8 === 0 ? MAX_PIECE_BYTES * 2 : 5_000)
    await end(await stage())
    say(`settled ${name}`)
  }
}

const left = await begin('left', MAX_PIECE_BYTES + 1)
await left.stage()
say('staged left')
await Promise.all(Array.from({ length: WORKERS }, (_, worker) => serve(worker)))
