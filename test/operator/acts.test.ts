/** The log of acts: every verb that changes something leaves one, no verb that changes nothing does, and no secret is in it. */
import { Database } from 'bun:sqlite'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { DATABASE_FILE } from '#db/file-name.ts'
import { openStore } from '#db/index.ts'
import { instant, later } from '#domain/clock.ts'
import { draftEvent } from '#domain/event.ts'
import { newEventId } from '#domain/id.ts'
import { NO_MONEY } from '#domain/money.ts'
import { draftNotices } from '#domain/notice.ts'
import { DEFAULT_RUB_PER_USD } from '#domain/rate.ts'
import type { Watch } from '#domain/snapshot/watch.ts'
import type { ActRecord } from '#operator/acts.ts'
import { VERBS, type VerbInput, type VerbName } from '#operator/verbs.ts'
import { newPerson, type PersonId } from '#signin/register/person.ts'
import { newSigninEvent } from '#signin/register/signin-event.ts'
import { putArtifact } from '#test/db/contract/write-artifacts.ts'
import { aKey, anAct, aPasskey } from '#test/support/nouns.ts'
import { restingWatch } from '#test/support/resting-watch.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { act, openOperator, serving, type TestOperatorDeps } from './deps.ts'

/** What an operator handed in, or was handed, and nobody may read in the log. */
const CREDENTIAL = 'sk-canary-4f1d0e7b'
const HIDDEN_PATH = '/services/T0/B0/canary'

const PLAN_OF_NOTHING = createHash('sha256').update('[]').digest('hex').slice(0, 16)

/** A line of a bill of which the books know nothing. */
const FOREIGN = {
  day: '2026-08-01',
  model: 'foreign',
  class: 'input_tokens',
  units: 5,
  usd: '1',
  lines: 1,
}

/** A model that a file of prices has, and the gateway does not. */
const OFFERED = {
  served_by: 'spare',
  model: 'small',
  name: 'Small',
  input: ['text' as const],
  output: ['text' as const],
  features: [],
  usd_per_million: { input: '1', output: '2' },
}

/** What each verb is tried with, in a gateway that `furnish` made. A verb that is not here does not compile. */
const SAMPLES: { readonly [Name in VerbName]: VerbInput<Name> } = {
  init: { key_name: 'second' },
  status: {},
  doctor: {},
  'keys.create': { name: 'new', rpm_limit: 60, note: 'a note' },
  'keys.list': {},
  'keys.show': { key: 'default' },
  'keys.identify': { secret: '' },
  'keys.edit': { key: 'default', name: 'renamed' },
  'keys.rotate': { key: 'default' },
  'keys.revoke': { key: 'default' },
  'limits.show': {},
  'limits.set': { keys: ['default'], rpm_limit: 60, allowed_models: ['demo/*'] },
  'balance.show': {},
  'balance.top-up': { amount_usd: '5', ref: 'INVOICE-7' },
  'balance.adjust': { amount_usd: '-1', note: 'by mistake' },
  'activity.list': {},
  'activity.search': { lines: 10 },
  'activity.count': {},
  'activity.kept': {},
  'activity.show': { id: 'req_known' },
  'activity.running': { id: 'req_running' },
  'activity.kill': { id: 'req_running' },
  'acts.list': {},
  'users.events': {},
  'groups.list': {},
  'groups.show': { group: 'staff' },
  'groups.add': { group: 'staff', people: ['new@example.org'] },
  'groups.remove': { group: 'staff', people: ['ann@example.org'] },
  backup: { file: '/backups/one.db', size_bytes: 4_096, taken_at: '2026-08-23T12:00:00Z' },
  'backup.failed': { file: '/backups/one.db', reason: 'no room' },
  'backup.restore': { file: '/backups/one.db', replaced: null },
  audit: {},
  why: { id: 'req_known' },
  'usage.report': {},
  'usage.sums': {
    since: '2026-11-01T00:00:00Z',
    until: '2026-12-01T00:00:00Z',
    top: 5,
    drawn: 5,
  },
  'usage.chart': {},
  'usage.drift': {},
  reconcile: {
    provider: 'demo',
    since: '2026-08-01T00:00:00Z',
    until: '2026-08-02T00:00:00Z',
    bill: { grain: 'classes', counts: true, amounts: true, days: ['2026-08-01'], lines: [FOREIGN] },
  },
  'ledger.list': {},
  'ledger.count': {},
  export: {},
  plan: { document: { rates: { usd_rub: '95' } } },
  // Its steps leave acts as other verbs do; the file of this sample changes nothing.
  apply: { document: {}, plan: PLAN_OF_NOTHING },
  'providers.add': { name: 'acme', base_url: 'http://h/v1', credential: CREDENTIAL },
  'providers.list': {},
  'providers.show': { name: 'demo' },
  'providers.edit': { name: 'spare', credential: 'sk-canary-4f1d0e7b-other' },
  'providers.credentials.list': { provider: 'several' },
  'providers.credentials.set': { provider: 'several', name: 'eu', credential: CREDENTIAL },
  'providers.credentials.remove': { provider: 'several', name: 'default' },
  'providers.test': {},
  'providers.remove': { name: 'demo' },
  'models.list': {},
  'models.show': { model: 'demo/echo' },
  'models.add': { model: 'demo/new', in_usd: '1', out_usd: '2' },
  'models.price': { model: 'demo/echo', in_usd: '7' },
  'models.unprice': { model: 'demo/echo' },
  'models.alias.list': {},
  'models.alias.set': { name: 'parrot', model: 'demo/lorem' },
  'models.alias.remove': { name: 'parrot' },
  'models.refresh.plan': {},
  'models.refresh': { entries: [OFFERED], add_new: true, plan: 'PLAN' },
  'models.remove': { model: 'demo/flaky' },
  'models.route.list': {},
  'models.route.show': { model: 'demo/echo' },
  'models.route.set': { model: 'demo/echo', provider: 'spare' },
  'models.route.order': { model: 'demo/lorem', order: 'latency' },
  'models.route.drop': { model: 'demo/lorem', provider: 'spare' },
  'models.route.reset': { model: 'demo/lorem' },
  'rates.show': {},
  'rates.set': { pair: 'USD/RUB', rub_per_usd: '92.5' },
  'accounts.list': {},
  'accounts.show': { name: 'default' },
  'accounts.create': { name: 'other' },
  'accounts.edit': { account: 'default', member_daily_usd: '2' },
  'accounts.overview': {},
  'accounts.figures': {},
  'accounts.days': {},
  'accounts.refusals': {},
  'accounts.members.list': {},
  'accounts.members.add': { email: 'bob@example.org', role: 'viewer' },
  'accounts.members.invite': { email: 'dan@example.org', role: 'viewer' },
  'accounts.members.accept': { person: 'ann@example.org' },
  'accounts.members.decline': { person: 'ann@example.org' },
  'accounts.members.set-role': { person: 'cleo@example.org', role: 'owner' },
  'accounts.members.remove': { person: 'cleo@example.org' },
  'accounts.rename': { account: 'spare', name: 'third' },
  'accounts.set-limits': { account: 'spare', rpm_limit: 60, monthly_spend_limit_usd: '5' },
  'accounts.move-key': { key: 'default', to: 'spare' },
  'accounts.close': { account: 'spare' },
  'thresholds.show': {},
  'thresholds.set': {
    threshold_usd: '9',
    webhook_url: `https://hooks.example.org${HIDDEN_PATH}`,
    rotate_secret: true,
  },
  'thresholds.test': {},
  'notices.list': {},
  'notices.show': { event: 'RAISED' },
  'notices.seen': {},
  'notices.test': {},
  'notices.settings': {},
  'notices.set': {
    email: 'ops@example.org',
    webhook_url: `https://hooks.example.org${HIDDEN_PATH}`,
    rotate_secret: true,
  },
  'deliveries.list': {},
  'deliveries.show': { event: 'EVENT' },
  'deliveries.redeliver': { event: 'EVENT' },
  'clients.create': { name: 'wiki', redirect_uris: ['https://wiki.example.org/cb'] },
  'clients.list': {},
  'clients.show': { client: 'known' },
  'clients.edit': { client: 'known', name: 'renamed' },
  'clients.rotate-secret': { client: 'known' },
  'clients.remove': { client: 'known' },
  'clients.rotate-signing-key': {},
  'users.list': {},
  'users.show': { person: 'ann@example.org' },
  'users.edit': { person: 'ann@example.org', email: 'anne@example.org' },
  'users.add': { email: 'new@example.org' },
  'users.language': { person: 'ann@example.org', language: 'ru' },
  'users.test-mail': { email: 'new@example.org' },
  'users.disable': { person: 'ann@example.org' },
  'users.enable': { person: 'bob@example.org' },
  'users.remove': { person: 'ann@example.org' },
  'users.sessions.list': { person: 'ann@example.org' },
  'users.sessions.end': { person: 'ann@example.org', session: 'uid-1' },
  'users.access.list': { person: 'ann@example.org' },
  'users.access.withdraw': { person: 'ann@example.org', access: 'cd'.repeat(6) },
  'users.sessions.revoke': { person: 'ann@example.org' },
  'users.identities.add': { person: 'ann@example.org', provider: 'known', subject: 's-2' },
  'users.passkeys.list': { person: 'ann@example.org' },
  'users.passkeys.remove': { person: 'ann@example.org', passkey: 'psk_known' },
  'users.identities.remove': { person: 'ann@example.org', provider: 'known' },
  'identities.add': { name: 'google', client_id: 'gateway', secret: CREDENTIAL },
  'identities.list': {},
  'identities.show': { name: 'known' },
  'identities.edit': { name: 'known', secret: CREDENTIAL },
  'identities.remove': { name: 'known' },
}

/** With one request in progress. */
const WATCH: Watch = {
  ...restingWatch(),
  inFlight: () => [
    {
      node: null,
      generationId: 'gen-running',
      requestId: 'req_running',
      key: aKey(instant(0)),
      model: 'demo/echo',
      provider: 'demo',
      endUser: null,
      surface: 'chat',
      session: null,
      stream: true,
      state: 'streaming',
      arrivedAt: instant(0),
      firstEventMs: 1,
      promptTokens: 1,
      outputTokens: 1,
      cost: NO_MONEY,
      failedAttempts: 0,
    },
  ],
  kill: async () => ({ ended: true }),
}

const NAMES = Object.keys(VERBS) as readonly VerbName[]

interface TestGateway {
  readonly deps: TestOperatorDeps
  /** Counts up whenever anything at all was committed. */
  commits(): number
  acts(): Promise<readonly ActRecord[]>
  secret: string
  event: string
  raised: string
}

/** A gateway with one of everything: its database, and what only who made it knows. */
interface Made extends Pick<TestGateway, 'secret' | 'event' | 'raised'> {
  readonly database: Uint8Array
}

async function openIn(dataDir: string): Promise<TestOperatorDeps> {
  const base = await openOperator()
  const masterKey = new Uint8Array(32).fill(7)
  return { ...base, store: await openStore({ dataDir, clock: base.clock, masterKey }), dataDir }
}

async function make(): Promise<Made> {
  const dataDir = tempDirectory()
  const deps = await openIn(dataDir)
  const { store } = deps
  await act(deps, 'init', { first_key: false })
  const { key: secret } = await act(deps, 'keys.create', { name: 'default' })
  await act(deps, 'providers.add', { name: 'spare', base_url: 'http://s', credential: null })
  await act(deps, 'providers.add', { name: 'several', base_url: 'http://s', credential: 'sk-one' })
  const us = { provider: 'several', name: 'us', credential: 'sk-us' }
  await act(deps, 'providers.credentials.set', us)
  await act(deps, 'models.route.set', { model: 'demo/lorem', provider: 'spare' })
  await act(deps, 'models.alias.set', { name: 'parrot', model: 'demo/echo' })
  await act(deps, 'accounts.create', { name: 'spare' })
  await act(deps, 'clients.create', {
    name: 'known',
    redirect_uris: ['https://k.example.org/cb'],
  })
  const { id: ann } = await act(deps, 'users.add', { email: 'ann@example.org' })
  await act(deps, 'accounts.members.add', { email: 'cleo@example.org', role: 'member' })
  await store.signin.people.confirmEmail('ann@example.org', null, deps.clock.now(), 0)
  await act(deps, 'accounts.members.invite', { email: 'ann@example.org', role: 'member' })
  await act(deps, 'groups.add', { group: 'staff', people: ['ann@example.org'] })
  await act(deps, 'identities.add', {
    name: 'known',
    issuer: 'https://sso.example.org',
    client_id: 'gateway',
    secret: 'shh',
  })
  const identity = { issuer: 'https://sso.example.org', subject: 's-1', claimedName: null }
  await store.signin.identities.link(identity, ann as PersonId, deps.clock.now(), 0)
  const passkey = aPasskey(ann as PersonId, deps.clock.now(), { id: 'psk_known' })
  const added = { outcome: 'passkey_added', address: '192.0.2.1' }
  await store.signin.passkeys.add(passkey, newSigninEvent(deps.clock.now(), added), 0)
  for (const [kind, uid] of [
    ['Session', 'uid-1'],
    ['Grant', null],
  ] as const) {
    await putArtifact(store.signin, {
      kind,
      digest: 'cd'.repeat(32),
      payload: '{}',
      grantId: null,
      uid,
      personId: ann as PersonId,
      clientId: 'known',
      consumedAt: null,
      expiresAt: later(deps.clock.now(), 60_000),
    })
  }
  const bob = {
    ...newPerson('bob@example.org' as never, deps.clock.now()),
    disabledAt: deps.clock.now(),
  }
  await store.signin.people.add(bob, anAct(deps.clock.now()))
  await act(deps, 'thresholds.set', { webhook_url: 'https://ops.example.org/old' })
  await act(deps, 'notices.set', { email: 'old@example.org' })
  const event = await postNotice(deps)
  const facts = { file: null, reason: 'no room' }
  const raised = draftEvent('gateway.backup_failed', facts, deps.clock.now())
  await store.events.raise(raised, null)
  await store.close()
  const database = readFileSync(join(dataDir, DATABASE_FILE))
  return { database, secret, event, raised: raised.id }
}

let made: Promise<Made> | undefined

/** A copy of it on a disk, watched from beside. */
async function furnish(): Promise<TestGateway> {
  made ??= make()
  const { database, ...known } = await made
  const dataDir = tempDirectory()
  writeFileSync(join(dataDir, DATABASE_FILE), database)
  const deps = await openIn(dataDir)
  onTestFinished(() => deps.store.close())
  deps.clock.advance(1_000)
  // What its start has left to write is written with the first look at it.
  await act(deps, 'status', {})

  const beside = new Database(join(dataDir, DATABASE_FILE), { readonly: true })
  onTestFinished(() => beside.close())
  const commits = (): number =>
    beside.query<{ data_version: number }, []>('PRAGMA data_version').get()?.data_version ?? 0
  return {
    deps,
    commits,
    acts: () => act(deps, 'acts.list', {}),
    ...known,
  }
}

async function postNotice({ store, clock }: TestOperatorDeps): Promise<string> {
  const at = clock.now()
  const accountId = (await store.accounts.list())[0]?.id ?? 'acct_'
  const facts = { eventId: newEventId(at), accountId, at, balance: NO_MONEY, below: NO_MONEY }
  await store.notices.post(
    draftNotices({ ...facts, rubPerUsd: DEFAULT_RUB_PER_USD }, ['webhook']),
    anAct(at),
  )
  return facts.eventId
}

/** The sample with what only a furnished gateway knows in its place. */
const inputFor = async (
  name: VerbName,
  { deps, secret, event, raised }: TestGateway,
): Promise<object> => {
  const sample: Record<string, unknown> = { ...SAMPLES[name] }
  if (sample['secret'] === '') sample['secret'] = secret
  if (sample['event'] === 'EVENT') sample['event'] = event
  if (sample['event'] === 'RAISED') sample['event'] = raised
  if (sample['plan'] === 'PLAN') {
    const { plan: _, ...asked } = sample
    sample['plan'] = (await act(deps, 'models.refresh.plan', asked as never)).plan
  }
  return sample
}

/** Verbs that look for a request need one: it is enough that they change nothing on the way to not finding it. */
const MAY_FAIL: ReadonlySet<VerbName> = new Set(['activity.show', 'why'])

/** Verbs that change nothing, or not here: a gateway that is furnished is not made again, and no file is applied that changes it. */
const CHANGES_NOTHING =
  /^(init|status|doctor|audit|why|export|plan|apply|providers\.test)$|\.(list|search|show|identify|count|kept|events|running|report|sums|chart|drift|settings|overview|figures|days|refusals|refresh\.plan)$/

describe('every verb', () => {
  test.each(NAMES)('%s', async (name) => {
    const furnished = await furnish()
    const [before, noted] = [furnished.commits(), await furnished.acts()]

    // Only a running gateway has a request to end.
    const isOfRunning = name === 'activity.kill' || name === 'activity.running'
    const deps = isOfRunning ? { ...furnished.deps, live: serving(), watch: WATCH } : furnished.deps
    const answer = await act(deps, name, (await inputFor(name, furnished)) as never).catch(
      (thrown) => {
        if (MAY_FAIL.has(name)) return {}
        throw thrown
      },
    )

    const changes = !CHANGES_NOTHING.test(name)
    const fresh = (await furnished.acts()).slice(0, -noted.length || undefined)
    // Whatever changes the gateway leaves exactly one act.
    expect({ changed: furnished.commits() !== before, acts: fresh.length }).toEqual({
      changed: changes,
      acts: changes ? 1 : 0,
    })
    if (!changes) return
    expect(fresh[0]).toMatchObject({
      verb: name,
      who: 'uid 7 (tester)',
      at: '2026-08-23T12:00:01Z',
    })
    expect(Object.keys(fresh[0]?.changed ?? {})).not.toEqual([])
    const told = JSON.stringify(fresh)
    for (const hidden of [CREDENTIAL, HIDDEN_PATH, ...secretsIn(answer)]) {
      expect(told).not.toContain(hidden)
    }
  })
})

/** Every text of an answer that nobody could guess, whatever its field is called. */
function secretsIn(answer: unknown): readonly string[] {
  const found: string[] = []
  JSON.stringify(answer, (field, value) => {
    const isSecret = /^(key|secret|\w+_secret)$/.test(field) && typeof value === 'string'
    if (isSecret && value.length > 20) found.push(value)
    return value
  })
  return found
}

describe('an act tells', () => {
  const newest = async (deps: TestOperatorDeps): Promise<ActRecord | undefined> =>
    (await act(deps, 'acts.list', { limit: 1 }))[0]

  test.each<[VerbName, object]>([
    [
      'keys.create',
      { kind: 'ordinary', name: 'new', note: 'a note', rpm_limit: 60, account: 'default' },
    ],
    ['keys.edit', { name: { from: 'default', to: 'renamed' } }],
    [
      'limits.set',
      { rpm_limit: { from: null, to: 60 }, allowed_models: { from: null, to: ['demo/*'] } },
    ],
    ['balance.top-up', { amount_usd: '5.00', ref: 'INVOICE-7' }],
    ['balance.adjust', { amount_usd: '-1.00', note: 'by mistake' }],
    ['providers.add', { type: 'openai-compatible', has_credential: true }],
    ['models.price', { in_usd: { from: '1', to: '7' } }],
    ['models.refresh', { source: 'file', added: ['spare/small'] }],
    ['rates.set', { rub_per_usd: { from: '90', to: '92.5' } }],
    [
      'thresholds.set',
      {
        threshold_usd: { from: null, to: '9.00' },
        webhook: { from: 'https://ops.example.org', to: 'https://hooks.example.org' },
        webhook_secret: 'new',
      },
    ],
    ['models.route.set', { hops: [{ provider: 'demo' }, { provider: 'spare' }] }],
    [
      'models.route.order',
      { hops: [{ provider: 'demo' }, { provider: 'spare' }], order: 'latency' },
    ],
    ['models.alias.set', { model: { from: 'demo/echo', to: 'demo/lorem' } }],
    ['models.alias.remove', { model: { from: 'demo/echo', to: null } }],
    ['accounts.create', { name: 'other' }],
    ['accounts.edit', { member_daily_usd: { from: null, to: '2.00' } }],
    ['accounts.members.add', { account: 'default', role: { from: null, to: 'viewer' } }],
    ['accounts.members.invite', { account: 'default', role: 'viewer' }],
    [
      'accounts.members.accept',
      {
        account: 'default',
        invitation: expect.stringMatching(/^inv_/),
        role: { from: null, to: 'member' },
      },
    ],
    ['accounts.members.decline', { account: 'default', declined: true }],
    ['accounts.members.set-role', { account: 'default', role: { from: 'member', to: 'owner' } }],
    ['accounts.members.remove', { account: 'default', removed: true }],
    ['users.language', { language: { from: null, to: 'ru' } }],
    ['accounts.rename', { name: { from: 'spare', to: 'third' } }],
    [
      'accounts.set-limits',
      {
        rpm_limit: { from: null, to: 60 },
        monthly_spend_limit_usd: { from: null, to: '5.00' },
      },
    ],
    ['accounts.move-key', { account: { from: 'default', to: 'spare' } }],
    ['accounts.close', { name: 'spare' }],
  ])('%s', async (name, changed) => {
    const furnished = await furnish()
    await act(furnished.deps, name, (await inputFor(name, furnished)) as never)
    expect((await newest(furnished.deps))?.changed).toMatchObject(changed)
  })

  test('nothing where nothing changed', async () => {
    const { deps, acts } = await furnish()
    await act(deps, 'balance.top-up', { amount_usd: '5', ref: 'once' })
    const { length } = await acts()
    await act(deps, 'balance.top-up', { amount_usd: '5', ref: 'once' })
    await act(deps, 'keys.edit', { key: 'default', name: 'default' })
    await act(deps, 'limits.set', { keys: ['default'], rpm_limit: null })
    await act(deps, 'init', {})
    expect(await acts()).toHaveLength(length)
  })

  test('of each key that was changed, and of none when one of them could not be', async () => {
    const { deps, acts } = await furnish()
    await act(deps, 'keys.create', { name: 'second' })
    await act(deps, 'keys.create', { name: 'gone' })
    await act(deps, 'keys.revoke', { key: 'gone' })
    const { length } = await acts()
    await expect(
      act(deps, 'limits.set', { keys: ['default', 'gone'], rpm_limit: 1 }),
    ).rejects.toMatchObject({ code: 'key_revoked' })
    expect((await act(deps, 'limits.show', { key: 'default' }))[0]?.rpm_limit).toBeNull()
    expect(await acts()).toHaveLength(length)
    await act(deps, 'limits.set', { keys: ['default', 'second'], rpm_limit: 1 })
    expect(await acts()).toHaveLength(length + 2)
  })

  test('no more than was refused: a verb that throws leaves none', async () => {
    const { deps, acts } = await furnish()
    const { length } = await acts()
    await expect(act(deps, 'keys.revoke', { key: 'nobody' })).rejects.toThrow()
    await expect(act(deps, 'accounts.create', { name: 'default' })).rejects.toThrow()
    expect(await acts()).toHaveLength(length)
  })
})

test('the first acts of a gateway are its making, one for each thing made', async () => {
  const deps = await openOperator()
  const { key } = await act(deps, 'init', { demo_credit_usd: '10' })
  expect(await act(deps, 'acts.list', {})).toMatchObject([
    { verb: 'keys.create', target: key?.id, changed: { account: 'default', name: 'default' } },
    { verb: 'init', target: 'demo', changed: { created: 'provider', models: 4 } },
    { verb: 'init', target: 'default', changed: { amount_usd: '10.00', note: 'first credit' } },
    { verb: 'init', target: 'default', changed: { created: 'account' } },
  ])
})

test('the list is cut to a time and to so many', async () => {
  const { deps, acts } = await furnish()
  await act(deps, 'rates.set', { pair: 'USD/RUB', rub_per_usd: '91' })
  const list = async (input: object) =>
    (await act(deps, 'acts.list', input)).map(({ verb }) => verb)
  expect(await list({ since: '2026-08-23T12:00:01Z' })).toEqual(['rates.set'])
  expect(await list({ until: '2026-08-23T12:00:00Z' })).toEqual([])
  expect(await list({ limit: 1 })).toEqual(['rates.set'])
  expect((await acts()).length).toBeGreaterThan(5)
  await expect(list({ limit: 0 })).rejects.toMatchObject({ code: 'invalid_request' })
})
