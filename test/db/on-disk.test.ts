// What lies on the disk: no secret, a ledger that nothing rewrites, and one whole file once the store is closed.

import { Database } from 'bun:sqlite'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { DATABASE_FILE } from '#db/file-name.ts'
import { openStore } from '#db/index.ts'
import { MIGRATIONS } from '#db/sqlite/migrations/index.ts'
import { draftAct } from '#domain/act.ts'
import type { ActivityQuery } from '#domain/activity.ts'
import type { Claim } from '#domain/admission.ts'
import { later } from '#domain/clock.ts'
import { chargeEntryId } from '#domain/id.ts'
import { KEPT_MS } from '#domain/idempotency.ts'
import { onlyCredential } from '#domain/provider.ts'
import { newSecret } from '#domain/secret.ts'
import type { Store } from '#domain/store.ts'
import { providerOf } from '#test/support/catalogue.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { aRepeat, beginAnswer, findAnswer, keepAnswer } from '#test/support/keep-answer.ts'
import {
  aCard,
  aCharge,
  aClaim,
  aKey,
  aNotice,
  anAccount,
  anAct,
  anActivity,
  aProvider,
  aTopUp,
  usd,
} from '#test/support/nouns.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { FULL } from '#test/support/tier.ts'

const clock = handClock('2026-08-22T12:00:00Z')
const masterKey = crypto.getRandomValues(new Uint8Array(32))
let dataDir: string
let store: Store

beforeEach(async () => {
  dataDir = tempDirectory()
  store = await openStore({ dataDir, clock, masterKey })
  await store.accounts.create(anAccount(), anAct())
  await store.ledger.credit(aTopUp(clock.now(), usd('100')), anAct())
})

const bytes = () =>
  Buffer.concat(readdirSync(dataDir).map((file) => readFileSync(join(dataDir, file))))

describe('no secret is written', () => {
  test('neither a key’s, nor a provider’s, nor the master key; open or closed', async () => {
    const secret = newSecret()
    const key = aKey(clock.now(), {}, { name: 'findable name' })
    await store.keys.issue(key, secret, anAct())
    await store.keys.findBySecret(secret, clock.now())
    const credential = 'sk-canary-4f1d0e7b'
    await store.providers.add(
      aProvider({ hasCredential: true }),
      onlyCredential(credential),
      [],
      anAct(),
    )
    await store.providers.credential('acme')
    const look = () => {
      const written = bytes()
      // The proof that looking finds what is there.
      expect(written.includes('findable name')).toBe(true)
      for (const hidden of [secret, secret.slice(3, 46), credential, 'canary']) {
        expect(written.includes(hidden)).toBe(false)
      }
      expect(written.includes(Buffer.from(masterKey))).toBe(false)
    }
    look()
    await store.close()
    look()
  })

  test('T11: a digest that was read from the file opens nothing', async () => {
    const secret = newSecret()
    await store.keys.issue(aKey(clock.now()), secret, anAct())
    await store.close()
    const database = new Database(join(dataDir, DATABASE_FILE), { readonly: true })
    const row = database.query<{ sha256: Buffer }, []>('SELECT sha256 FROM key_secrets').get()
    database.close(true)
    const again = await openStore({ dataDir, clock, masterKey })
    const digest = Buffer.from(row?.sha256 ?? []).toString('hex')
    expect(await again.keys.findBySecret(digest as typeof secret, clock.now())).toBeUndefined()
    await again.close()
  })

  test('without a master key credentials are neither kept nor read', async () => {
    await store.providers.add(
      aProvider({ hasCredential: true }),
      onlyCredential('sk-kept'),
      [],
      anAct(),
    )
    await store.close()
    const keyless = await openStore({ dataDir, clock })
    const second = aProvider({ name: 'second', hasCredential: true })
    await expect(
      keyless.providers.add(second, onlyCredential('sk-other'), [], anAct()),
    ).rejects.toMatchObject({
      code: 'internal_error',
    })
    expect(providerOf(keyless, 'second')).toBeUndefined()
    await expect(keyless.providers.credential('acme')).rejects.toMatchObject({
      code: 'internal_error',
    })
    await keyless.close()
    const other = await openStore({ dataDir, clock, masterKey: new Uint8Array(32).fill(9) })
    const refused = await other.providers.credential('acme').catch((thrown) => thrown)
    expect(refused).toMatchObject({ code: 'internal_error' })
    expect(String(refused)).not.toContain('sk-')
    await other.close()
  })

  test('a sealed credential moved to another provider is unreadable', async () => {
    await store.providers.add(
      aProvider({ hasCredential: true }),
      onlyCredential('sk-first'),
      [],
      anAct(),
    )
    await store.providers.add(
      aProvider({ name: 'other', hasCredential: true }),
      onlyCredential('sk-other'),
      [],
      anAct(),
    )
    await store.close()
    const database = new Database(join(dataDir, DATABASE_FILE))
    database.run(`UPDATE credentials SET sealed =
      (SELECT sealed FROM credentials WHERE provider = 'acme') WHERE provider = 'other'`)
    database.close(true)
    const again = await openStore({ dataDir, clock, masterKey })
    await expect(again.providers.credential('other')).rejects.toMatchObject({
      code: 'internal_error',
    })
    expect(await again.providers.credential('acme')).toBe('sk-first')
    await again.close()
  })
})

test('a store whose charges wait for the disk settles them as any other', async () => {
  await store.close()
  store = await openStore({ dataDir, clock, syncCharges: true })
  await spendSome()
  expect((await store.audit()).balances).toMatchObject([
    { balance: usd('99.75'), ledgerSum: usd('99.75') },
  ])
  await store.close()
})

async function spendSome(): Promise<void> {
  const key = aKey(clock.now())
  await store.keys.issue(key, newSecret(), anAct())
  const claim = aClaim(key, clock.now())
  await store.admissions.admit(claim)
  await store.admissions.settle(claim.generationId, {
    answer: null,
    at: clock.now(),
    charge: aCharge(usd('0.25')),
    activity: anActivity(claim, { cost: usd('0.25') }),
  })
}

describe('the ledger', () => {
  test.each([
    'UPDATE ledger SET amount_nanos = 0',
    "UPDATE ledger SET note = 'x' WHERE kind = 'charge'",
    'DELETE FROM ledger',
    "DELETE FROM ledger WHERE kind = 'top_up'",
  ])('is append-only: %s', async (sql) => {
    await spendSome()
    await store.close()
    const database = new Database(join(dataDir, DATABASE_FILE))
    const read = () => database.query('SELECT * FROM ledger').all()
    const before = read()
    expect(before).toHaveLength(2)
    expect(() => database.run(sql)).toThrow('append-only')
    expect(read()).toEqual(before)
    database.close(true)
  })

  test('allows one charge per generation, even by direct SQL', async () => {
    await spendSome()
    await store.close()
    const database = new Database(join(dataDir, DATABASE_FILE))
    const copy = (id: string) =>
      database.run(`INSERT INTO ledger (id, account_id, kind, amount_nanos, at, generation_id, rub_per_usd)
        SELECT ${id}, account_id, kind, amount_nanos, at, generation_id, rub_per_usd
        FROM ledger WHERE kind = 'charge'`)
    expect(() => copy('id')).toThrow('UNIQUE')
    expect(() => copy("'led_other'")).toThrow('CHECK')
    database.close(true)
  })

  test('a balance that differs from its entries is found', async () => {
    await spendSome()
    await store.close()
    const database = new Database(join(dataDir, DATABASE_FILE))
    database.run('UPDATE accounts SET balance_nanos = balance_nanos + 1')
    database.close(true)
    store = await openStore({ dataDir, clock })
    const balance = usd('99.750000001')
    expect(await store.audit()).toMatchObject({
      balances: [{ balance, ledgerSum: usd('99.75') }],
      findings: [{ what: 'balance', subject: 'acct_1', kept: balance, ledger: usd('99.75') }],
    })
    await store.close()
  })
})

describe('the log of acts', () => {
  test.each(["UPDATE acts SET who = 'nobody'", 'DELETE FROM acts'])(
    'is append-only: %s',
    async (sql) => {
      const facts = { target: null, changed: { rate: '90' } }
      await store.acts.note(draftAct(clock.now(), 'uid 7 (ann)', 'rates.set', facts))
      await store.close()
      const database = new Database(join(dataDir, DATABASE_FILE))
      expect(() => database.run(sql)).toThrow('append-only')
      expect(database.query('SELECT DISTINCT who FROM acts ORDER BY who').all()).toEqual([
        { who: 'tester' },
        { who: 'uid 7 (ann)' },
      ])
      database.close(true)
    },
  )
})

test('a closed store is one whole file: copied alone, nothing is missing', async () => {
  await spendSome()
  await store.close()
  expect(existsSync(join(dataDir, `${DATABASE_FILE}-wal`))).toBe(false)
  const copy = join(tempDirectory(), DATABASE_FILE)
  copyFileSync(join(dataDir, DATABASE_FILE), copy)
  const database = new Database(copy, { readonly: true })
  expect(database.query('SELECT count(*) AS entries FROM ledger').get()).toEqual({ entries: 2 })
  expect(database.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  database.close(true)
})

/** A thousand stores are opened, one after the other. */
const SWEEP_MS = 120_000

describe('noise in a sector hides none of the rows of a log: all are in the answer, or it is refused', () => {
  type Asking = Readonly<Record<string, () => Promise<unknown>>>
  const accountId = 'acct_1' as const
  const idsOf = async (rows: Promise<readonly { readonly id: string }[]>) =>
    (await rows).map(({ id }) => id)
  const linesOf = async (query: Omit<ActivityQuery, 'limit'>, limit = 30) =>
    (await store.activity.list({ limit, ...query })).map(({ generationId }) => generationId)

  /** Two keys that spend in turn, each charge followed by a top-up with a reference. */
  async function fill(): Promise<readonly [Claim, ...Claim[]]> {
    const keys = [aKey(clock.now()), aKey(clock.now())] as const
    for (const key of keys) await store.keys.issue(key, newSecret(), anAct())
    const claims: Claim[] = []
    for (let n = 0; n < 60; n++) {
      clock.advance(1_000)
      const claim = aClaim(keys[n % 3 === 0 ? 0 : 1], clock.now())
      await store.admissions.admit(claim)
      const activity = anActivity(claim, { cost: usd('0.01') })
      const charge = aCharge(usd('0.01'))
      await store.admissions.settle(claim.generationId, {
        answer: null,
        at: clock.now(),
        charge,
        activity,
      })
      await store.ledger.credit(aTopUp(clock.now(), usd('1'), { ref: `invoice ${n}` }), anAct())
      claims.push(claim)
    }
    return claims as [Claim, ...Claim[]]
  }

  const since = later(clock.now(), 20_000)
  const until = later(clock.now(), 40_000)

  const ofLedger = ([{ keyId, generationId }, ...claims]: readonly [Claim, ...Claim[]]): Asking => {
    const { ledger } = store
    const before = chargeEntryId(claims[30]?.generationId ?? generationId)
    return {
      newest: () => idsOf(ledger.list({ accountId, limit: 30 })),
      older: () => idsOf(ledger.list({ accountId, before, limit: 30 })),
      between: () => idsOf(ledger.list({ accountId, since, until, limit: 99 })),
      'of a key': () => idsOf(ledger.list({ accountId, keyId, limit: 99 })),
      'of a kind': () => idsOf(ledger.list({ kind: 'top_up', limit: 99 })),
      count: () => ledger.count({ accountId }),
      'count of a key': () => ledger.count({ keyId, since }),
      charge: async () => (await ledger.chargeOf(generationId))?.id,
      charges: async () => {
        const found = claims.map(async (claim) => (await ledger.chargeOf(claim.generationId))?.id)
        return await Promise.all(found)
      },
    }
  }
  const ofReferences = (): Asking => {
    const { ledger } = store
    const bookAgain = (ref: string) =>
      ledger.credit(aTopUp(clock.now(), usd('1'), { ref }), anAct())
    return {
      one: () => idsOf(ledger.list({ accountId, ref: 'invoice 30', limit: 1 })),
      none: () => idsOf(ledger.list({ accountId, ref: 'invoice 30 b', limit: 1 })),
      again: async () =>
        await bookAgain('invoice 31').catch(({ code, message }) => {
          if (code === 'already_exists') return code
          throw message
        }),
    }
  }
  const ofActivity = ([{ keyId, generationId }, ...claims]: readonly [
    Claim,
    ...Claim[],
  ]): Asking => {
    const { activity } = store
    const before = claims[30]?.generationId ?? generationId
    return {
      newest: () => linesOf({}),
      older: () => linesOf({ before }),
      between: () => linesOf({ since, until }),
      'of a key': () => linesOf({ keyId }),
      'of a model': () => linesOf({ model: claims[0]?.model ?? '' }, 99),
      'with an id': () => linesOf({ idEnd: before.slice(-6) }),
      slow: () => linesOf({ leastTotalMs: 1 }, 99),
      count: () => activity.count({ accountId }),
      'count of a key': () => activity.count({ keyId, since }),
      line: async () => (await activity.find(generationId))?.generationId,
    }
  }

  test.each([
    ['ledger', 'ledger', ofLedger],
    ['ledger by reference', 'ledger', ofReferences],
    ['index of references', 'ledger_refs', ofReferences],
    ['activity', 'activity', ofActivity],
  ] as const)(
    '%s',
    async (_, tree, toAsking) => {
      const claims = await fill()
      const ask = async (): Promise<readonly (readonly [name: string, answer: unknown])[]> => {
        const answers: (readonly [string, unknown])[] = []
        for (const [name, question] of Object.entries(toAsking(claims))) {
          answers.push([name, await question().catch((cause: unknown) => new Error(String(cause)))])
        }
        return answers
      }
      const truth = new Map(await ask())
      await store.close()
      const refused = new Set<string>()
      for (const where of spoil(tree)) {
        store = await openStore({ dataDir, clock })
        for (const [name, answer] of await ask()) {
          if (!(answer instanceof Error))
            expect(answer, `${name}: ${where}`).toEqual(truth.get(name))
          else expect(answer.message).toMatch(/damaged|malformed/)
          if (answer instanceof Error) refused.add(name)
        }
        await store.close()
      }
      expect([...refused].toSorted()).toEqual([...truth.keys()].toSorted())
    },
    SWEEP_MS,
  )

  /** Writes noise into one sector of the tree at a time, of every page of it. */
  function* spoil(tree: string): Generator<string, void> {
    const file = join(dataDir, DATABASE_FILE)
    const clean = readFileSync(file)
    const database = new Database(file, { readonly: true })
    const pages = database
      .query<{ page: number }, [string]>('SELECT pageno AS page FROM dbstat WHERE name = ?')
      .all(tree)
    database.close(true)
    for (const { page } of pages) {
      for (let sector = 0; sector < 8; sector++) {
        for (let seed = 1; seed <= (FULL ? 40 : 1); seed++) {
          const spoilt = Buffer.from(clean)
          const noise = createHash('shake256', { outputLength: 512 }).update(`${page} ${seed}`)
          noise.digest().copy(spoilt, (page - 1) * 4_096 + sector * 512)
          writeFileSync(file, spoilt)
          yield `page ${page}, sector ${sector}, seed ${seed}`
        }
      }
    }
  }
})

test('a damaged price is an error, never a free model, and only that model has it', async () => {
  const sound = aCard()
  await store.providers.add(aProvider(), [], [sound], anAct())
  await store.close()
  const database = new Database(join(dataDir, DATABASE_FILE))
  database.run(
    `INSERT INTO models (id, provider, upstream_name, name, description, created_at, input_modalities,
      output_modalities, supported_parameters) VALUES ('acme/x', 'acme', 'x', 'X', '', 0, '[]', '[]', '[]')`,
  )
  database.run(`INSERT INTO price_versions (id, model_id, effective_from, prices)
    VALUES ('price_1', 'acme/x', 0, '{"prompt":"-1","completion":"1","imagePrices":[],"tiers":[]}')`)
  database.close(true)
  store = await openStore({ dataDir, clock })
  const priceOf = (id: string) => store.catalogue.current().models.get(id)?.prices[0]?.prices
  expect(() => priceOf('acme/x')).toThrow(RangeError)
  expect(priceOf(sound.id)).toEqual(sound.prices[0]?.prices)

  // It can be taken back.
  await store.models.unprice('acme/x', anAct())
  expect(store.catalogue.current().models.get('acme/x')?.prices).toEqual([])
  await store.close()
})

/** Admits a request of a new key. */
async function begin() {
  const key = aKey(clock.now())
  await store.keys.issue(key, newSecret(), anAct())
  const claim = aClaim(key, clock.now())
  await store.admissions.admit(claim)
  const settle = () =>
    store.admissions.settle(claim.generationId, {
      answer: null,
      at: clock.now(),
      charge: aCharge(usd('0.01')),
      activity: anActivity(claim, { cost: usd('0.01') }),
    })
  return { key, id: claim.generationId, settle }
}

describe('a hold', () => {
  const holds = () => {
    const database = new Database(join(dataDir, DATABASE_FILE), { readonly: true })
    const rows = database.query<{ id: string }, []>('SELECT generation_id AS id FROM holds').all()
    database.close(true)
    return rows.map(({ id }) => id)
  }

  test('is on the disk within moments, although nothing awaits it, and is removed with its charge', async () => {
    const { id, settle } = await begin()
    await vi.waitFor(() => expect(holds()).toEqual([id]), { interval: 5, timeout: 20_000 })
    await settle()
    expect(holds()).toEqual([])
  })

  test('that is settled at once is never written', async () => {
    const { id, settle } = await begin()
    await settle()
    expect(holds()).toEqual([])
    // Its time has come and gone: a read writes what is still due.
    expect(await store.activity.find(id)).toBeDefined()
    expect(holds()).toEqual([])
  })
})

describe('kept answers', () => {
  const rows = () => {
    const database = new Database(join(dataDir, DATABASE_FILE), { readonly: true })
    const names = database.query<{ name: string }, []>(
      'SELECT idempotency_key AS name FROM answers',
    )
    const pieces = database.query<{ n: number }, []>('SELECT count(*) AS n FROM answer_pieces')
    const found = { names: names.all().map(({ name }) => name), pieces: pieces.get()?.n }
    database.close(true)
    return found
  }
  const keeper = async () => {
    const key = aKey(clock.now())
    await store.keys.issue(key, newSecret(), anAct())
    const stated = (name: string) => ({ repeat: aRepeat(name), body: new Uint8Array(600_000) })
    return {
      key,
      keep: (name: string) => keepAnswer(store, key, clock.now(), stated(name)),
      begin: (name: string) => beginAnswer(store, key, clock.now(), stated(name)),
    }
  }

  test('are gone from the disk, with all their pieces, when they are trimmed after their day', async () => {
    const { keep } = await keeper()
    await keep('a')
    clock.advance(KEPT_MS / 2)
    await keep('b')
    expect(rows()).toEqual({ names: ['a', 'b'], pieces: 6 })
    clock.advance(KEPT_MS / 2)
    await keep('c')
    // Not before: the clock may have jumped ahead, which only the sweeper knows.
    expect(rows()).toEqual({ names: ['a', 'b', 'c'], pieces: 9 })
    await store.answers.trim(clock.now(), 1_000)
    expect(rows()).toEqual({ names: ['b', 'c'], pieces: 6 })
  })

  test('that were staged and never shown are gone from the disk when they are trimmed', async () => {
    const { key, keep, begin } = await keeper()
    await keep('a')
    const [ended, running] = [await begin('b'), await begin('c')]
    await ended.stage()
    await running.stage()
    await ended.end(null)
    expect(await findAnswer(store, key, clock.now(), aRepeat('b'))).toBeUndefined()
    expect(rows()).toEqual({ names: ['a', 'b', 'c'], pieces: 9 })
    await store.answers.trim(clock.now(), 1_000)
    expect(rows()).toEqual({ names: ['a', 'c'], pieces: 6 })
    await running.end(null)
  })

  test('whose day is over leave the disk piece by piece, and by name with the last', async () => {
    const { keep } = await keeper()
    await keep('a')
    await keep('b')
    clock.advance(KEPT_MS)
    const trim = (limit: number) => store.answers.trim(clock.now(), limit)
    expect([await trim(1), rows()]).toEqual([1, { names: ['a', 'b'], pieces: 5 }])
    expect([await trim(2), rows()]).toEqual([2, { names: ['a', 'b'], pieces: 3 }])
    expect([await trim(2), rows()]).toEqual([2, { names: ['b'], pieces: 1 }])
    expect([await trim(2), rows()]).toEqual([1, { names: [], pieces: 0 }])
    await keep('a')
    expect(rows()).toEqual({ names: ['a'], pieces: 3 })
  })

  test('that a killed process had staged cannot be found, are removed, and leave their names free', async () => {
    const { key, keep, begin } = await keeper()
    await keep('paid')
    await (await begin('staged')).stage()
    await store.close()
    const database = new Database(join(dataDir, DATABASE_FILE))
    database.run('DELETE FROM answer_pieces WHERE answer_id = 2 AND place = 2')
    database.close(true)
    store = await openStore({ dataDir, clock })
    const find = (name: string) => findAnswer(store, key, clock.now(), aRepeat(name))
    expect(await find('paid')).toBeDefined()
    expect(await find('staged')).toBeUndefined()
    await store.answers.trim(clock.now(), 1_000)
    expect(rows()).toEqual({ names: ['paid'], pieces: 3 })
    expect(await keep('staged')).not.toBeNull()
    expect(await find('staged')).toBeDefined()
  })

  test('that an older binary was charged for and died before it showed are shown by the migration, others are not', async () => {
    const { key, keep } = await keeper()
    for (const name of ['charged', 'torn', 'free']) await keep(name)
    await store.close()
    const database = new Database(join(dataDir, DATABASE_FILE))
    database.run('UPDATE answers SET whole = 0')
    database.run('DELETE FROM answer_pieces WHERE answer_id = 2 AND place = 1')
    database.run("UPDATE answers SET generation_id = 'gen-x' WHERE id = 3")
    const sql = MIGRATIONS.find((one) => one.includes('INDEX answers_staged')) ?? ''
    database.run('DROP INDEX answers_staged')
    for (const column of ['idempotency_key', 'body_sha256']) {
      database.run(`ALTER TABLE holds DROP COLUMN ${column}`)
    }
    database.run(sql)
    database.close(true)
    store = await openStore({ dataDir, clock })
    const find = (name: string) => findAnswer(store, key, clock.now(), aRepeat(name))
    expect(await find('charged')).toBeDefined()
    for (const name of ['torn', 'free']) expect(await find(name)).toBeUndefined()
  })
})

test('what a courier had in hand when it died is due at the next start, without waiting for its lease', async () => {
  const [taken, ended] = [aNotice(clock.now()), aNotice(clock.now())]
  await store.notices.post([taken, ended], anAct())
  expect(await store.notices.claim(clock.now(), later(clock.now(), 30_000), 9)).toHaveLength(2)
  const attempt = { at: clock.now(), status: 204, failure: null, ms: 1 }
  const then = { state: 'delivered', nextTryAt: null } as const
  await store.notices.tried(ended.eventId, 'webhook', attempt, then)
  await store.close()
  store = await openStore({ dataDir, clock, masterKey })
  expect(await store.notices.claim(clock.now(), later(clock.now(), 30_000), 9)).toEqual([taken])
  expect(await store.notices.claim(clock.now(), later(clock.now(), 30_000), 9)).toEqual([])
})
