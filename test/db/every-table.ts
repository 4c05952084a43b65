/** A database in which every table that is moved has a row, with what is hard to carry: bytes, a NUL, the largest amounts. */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { DATABASE_FILE } from '#db/file-name.ts'
import { openStore } from '#db/index.ts'
import { SHARED } from '#db/move/tables.ts'
import type { Vault } from '#db/vault.ts'
import { systemClock } from '#domain/clock.ts'
import { labelOf, newSecret } from '#domain/secret.ts'
import {
  aCard,
  aCharge,
  aClaim,
  aHop,
  aKey,
  anAccount,
  anAct,
  anActivity,
  aProvider,
  aRoute,
  aTopUp,
  rate,
  usd,
} from '#test/support/nouns.ts'

type Value = string | number | Uint8Array | null

/** What a column must have, by its name, or by that of its table and its own. */
const given = (keyId: string, vault: Vault): Readonly<Record<string, Value>> => ({
  account_id: 'acct_1',
  key_id: keyId,
  person_id: 'people.id',
  client_id: 'clients.id',
  event_id: 'outbox.event_id',
  channel: 'email',
  issuer: 'identity_providers.issuer',
  'detours.provider': 'identity_providers.name',
  'answers.id': 41,
  answer_id: 41,
  'answers.whole': 1,
  bytes: 256,
  'outbox.state': 'pending',
  lease_until: null,
  'notice_settings.id': 1,
  'notice_settings.ceiling_percents': '[80,100]',
  role: 'owner',
  'identity_providers.type': 'oidc',
  authoritative_for: '[]',
  redirect_uris: '[]',
  logout_uris: '[]',
  allowed: null,
  payload: '{}',
  transports: '[]',
  synced: 1,
  purpose: 'use',
  sealed: vault.seal('kept', 'here'),
  sealed_jwk: vault.seal('kept', 'here'),
  sealed_secret: vault.seal('kept', 'here'),
  sealed_webhook_secret: vault.seal('kept', 'here'),
  one: 1,
  // What is spent is what was charged.
  'moved_days.spent_nanos': 0,
})

export async function fillEveryTable(dataDir: string, vault: Vault): Promise<void> {
  const keyId = await furnish(dataDir)
  const file = new Database(join(dataDir, DATABASE_FILE), { strict: true })
  file.run('PRAGMA foreign_keys = ON')
  const values = given(keyId, vault)
  for (const table of SHARED) {
    if (file.query(`SELECT 1 FROM ${table} LIMIT 1`).get() !== null) continue
    const columns = file
      .query<{ name: string; type: string }, [string]>(
        'SELECT name, type FROM pragma_table_info(?)',
      )
      .all(table)
    const row = columns.map(({ name, type }, nth): Value => {
      const own = `${table}.${name}`
      const stated = own in values ? values[own] : values[name]
      if (stated !== undefined) return stated
      if (type === 'BLOB') return Uint8Array.from({ length: 256 }, (_, n) => n)
      return type === 'INTEGER' ? nth + 7 : own
    })
    const places = columns.map(() => '?').join(', ')
    const names = columns.map(({ name }) => name).join(', ')
    file.query(`INSERT INTO ${table} (${names}) VALUES (${places})`).run(...row)
  }
  file
    .query(
      "INSERT INTO events (id, cause, subject, severity, body, raised_at) VALUES ('evt_1', 'c', 's', 'warning', ?, 1)",
    )
    .run(JSON.stringify({ data: { account_id: 'acct_1', user: 'a\0b' } }))
  // A sum of which a part has come to rest.
  file.run('INSERT INTO resting_key_days SELECT key_id, day, 1, 0 FROM key_days')
  file.run('UPDATE key_days SET spent_nanos = spent_nanos - 1')
  file.close()
}

/** What requests and operators leave. */
async function furnish(dataDir: string): Promise<string> {
  const masterKey = new Uint8Array(32).fill(7)
  const store = await openStore({ dataDir, clock: systemClock, masterKey })
  const at = systemClock.now()
  await store.accounts.create(anAccount(), anAct())
  await store.ledger.credit(
    aTopUp(at, usd('9000000'), { note: 'größer, "größer"\n\\u0000' }),
    anAct(),
  )
  const secret = newSecret()
  const key = aKey(at, { rpm: 9, endUserDailySpend: usd('9000') }, { label: labelOf(secret) })
  await store.keys.issue(key, secret, anAct())
  const credentials = [{ name: 'default', weight: 1, secret: 'sk-kept' }]
  await store.providers.add(aProvider({ hasCredential: true }), credentials, [], anAct())
  await store.models.add(aCard(), anAct())
  await store.models.alias({ name: 'small', model: 'acme/small' }, anAct())
  await store.models.route(aRoute('acme/*', [aHop()]), anAct())
  await store.rates.set(rate('92.5'), at, anAct(at))
  const claim = {
    ...aClaim(key, at),
    endUser: 'a\0b',
    catalogue: store.catalogue.current().version,
  }
  await store.admissions.admit({ ...claim, owner: store.owner })
  const charge = aCharge(usd('1.000000001'))
  const activity = anActivity(claim, {
    ...{ endUser: 'a\0b', cost: charge.amount, costRub: charge.costRub },
    statedCost: usd('9007199.254740991'),
  })
  await store.admissions.settle(claim.generationId, { at, charge, activity, answer: null })
  await store.close()
  return key.id
}
