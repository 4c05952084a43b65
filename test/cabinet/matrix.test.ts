// Every address of the cabinet, for each role, for somebody of another account, removed, or signed out: who gets what, and that
// nothing changes where it should not. The rows come from the table of routes: a new one without a row fails.
import { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROUTES, type Route } from '#cabinet/routes.ts'
import { mayDo } from '#operator/roles.ts'
import { ROLES, type Role } from '#signin/register/membership.ts'
import type { Browser, Page } from '#test/acceptance/signin/browser.ts'
import { csrfOf, type House, openHouse, post } from './house.ts'

/** How each route is asked: of which thing, with which fields; the status where the role may do it. */
interface Row {
  /** Replaces the parts that the path leaves open. */
  readonly named?: Readonly<Record<string, 'key' | 'request' | 'person' | 'invited' | string>>
  readonly fields?: Readonly<Record<string, string>>
  /** Of a GET, and after the redirect of a POST; 200 unless told. */
  readonly status?: number
  /** Whether it is no act although it is done: a prompt that is tried is a request like any other. */
  readonly isNoAct?: boolean
  /** Whether what the path names belongs to the account, so that to others it is not there. */
  readonly isNamed?: boolean
}

const KEY = { named: { ':key': 'key' }, isNamed: true }

const ROWS: Readonly<Record<string, Row>> = {
  'GET /cabinet': {},
  'GET /cabinet/live': {},
  'GET /cabinet/keys': {},
  'GET /cabinet/keys/new': {},
  'POST /cabinet/keys/new': { fields: { name: 'made', daily_spend_limit_usd: '1' } },
  'GET /cabinet/keys/matches': {},
  'GET /cabinet/keys/:key': KEY,
  'GET /cabinet/keys/:key/secret': { ...KEY, status: 410 },
  'POST /cabinet/keys/:key/limits': { ...KEY, fields: { rpm_limit: '7' } },
  'POST /cabinet/keys/:key/edit': { ...KEY, fields: { name: 'renamed' } },
  'POST /cabinet/keys/:key/disabled': { ...KEY, fields: { disabled: '1' } },
  'POST /cabinet/keys/:key/rotate': { ...KEY, fields: { grace: '3600' } },
  'GET /cabinet/keys/:key/revoke': KEY,
  'POST /cabinet/keys/:key/revoke': KEY,
  'GET /cabinet/activity': {},
  'GET /cabinet/activity.csv': {},
  'GET /cabinet/activity/:id': { named: { ':id': 'request' }, isNamed: true },
  'GET /cabinet/spend': {},
  'GET /cabinet/spend.csv': {},
  'GET /cabinet/balance': {},
  'GET /cabinet/balance.csv': {},
  'GET /cabinet/balance/secret': { status: 410 },
  'POST /cabinet/balance/threshold': { fields: { below: '3', email: 'ops@example.org' } },
  // There is no webhook yet whose secret could be changed.
  'POST /cabinet/balance/secret': { status: 400 },
  'POST /cabinet/balance/test': { fields: {} },
  'POST /cabinet/balance/deliveries': { fields: { event: 'evt_none' }, status: 404 },
  'GET /cabinet/models': {},
  'GET /cabinet/models/:provider/:model{.+}': { named: { ':provider/:model{.+}': 'demo/echo' } },
  'POST /cabinet/models/:provider/:model{.+}': {
    named: { ':provider/:model{.+}': 'demo/echo' },
    fields: { prompt: 'one two', key: 'KEY' },
    isNoAct: true,
  },
  'GET /cabinet/people': {},
  'POST /cabinet/people': { fields: { email: 'new@example.org', role: 'viewer' } },
  'POST /cabinet/people/:person/again': { named: { ':person': 'invited' }, isNamed: true },
  'POST /cabinet/people/allowance': { fields: { member_daily: '2' } },
  'POST /cabinet/people/:person/role': {
    named: { ':person': 'person' },
    fields: { role: 'viewer' },
    isNamed: true,
  },
  'GET /cabinet/people/:person/remove': { named: { ':person': 'person' }, isNamed: true },
  'POST /cabinet/people/:person/remove': { named: { ':person': 'person' }, isNamed: true },
  'GET /cabinet/you': {},
  'POST /cabinet/you/language': { fields: { language: 'en' } },
  'POST /cabinet/you/sessions': { fields: { session: 'none' }, status: 404 },
  // Back at the same screen: there is no such provider, and no such login.
  'POST /cabinet/you/link': { fields: { provider: 'none' }, isNoAct: true },
  'GET /cabinet/you/link/:provider': { named: { ':provider': 'none' } },
  // No passkeys at an address that is no name: nothing is added, and nobody has one to remove.
  'POST /cabinet/you/passkeys': { fields: { response: '{}' }, isNoAct: true },
  'POST /cabinet/you/passkeys/remove': { fields: { passkey: 'psk_none' }, status: 404 },
  'POST /cabinet/you/identities': { fields: { provider: 'none' }, status: 404 },
  'POST /cabinet/you/access': { fields: { access: 'none-at-all-here' }, status: 404 },
  // Last: it ends the session of who asks.
  'POST /cabinet/you/sessions/all': {},
}

const nameOf = ({ method, path }: Route): string => `${method} ${path}`

/** Whether it asks about something that has to be made for it. */
const isAimed = ({ named, fields }: Row): boolean =>
  named !== undefined || fields?.['key'] === 'KEY'
const invites = ({ named }: Row): boolean => named?.[':person'] === 'invited'

let house: House
let target: {
  readonly key: string
  readonly request: string
  readonly person: string
  readonly invited: string
}

/** What is written without anybody's act: sign-ins and sessions, the clock, attempts to deliver, and where the windows of the past end. */
const BY_ITSELF = new Set([
  'artifacts',
  'delivery_tries',
  'mail_codes',
  'mail_code_counts',
  'signin_events',
  'signin_secrets',
  'steady_time',
  'window_slots',
  'window_slots_end',
])

/** When a key was used, noted once a minute; and how far a notice has come. */
const MOVING = new Set([
  'last_used_at',
  'state',
  'tries',
  'next_try_at',
  'lease_until',
  'notified_at',
])

type Stored = Readonly<Record<string, unknown>>

/** Everything that is stored, table by table, as whoever opens the file sees it; of one account alone where it is named. */
function stored(accountId?: string): Readonly<Record<string, string>> {
  const names = file
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    )
    .all()
    .map(({ name }) => name)
    .filter((name) => !BY_ITSELF.has(name))
  return Object.fromEntries(
    names.map((name) => {
      const rows = file.query<Stored, []>(`SELECT * FROM ${name}`).all()
      const own = rows.filter((row) => accountId === undefined || row['account_id'] === accountId)
      const facts = own.map((row) => Object.entries(row).filter(([column]) => !MOVING.has(column)))
      return [name, `${own.length} ${Bun.hash(JSON.stringify(facts))}`]
    }),
  )
}

/** Everything that a person does: one line each. */
const acts = async (): Promise<number> => (await house.store.acts.list({ limit: 10_000 })).length

const dataDir = mkdtempSync(join(tmpdir(), 'gatewayctl-matrix-'))
let acme = ''
let file: Database

beforeAll(async () => {
  house = await openHouse({ dataDir })
  file = new Database(join(dataDir, 'gateway.db'), { readonly: true })
  acme = (await house.act('accounts.create', { name: 'acme' })).id
  await house.act('balance.top-up', { account: 'acme', amount_usd: '20' })
  await house.person('of-acme@example.org', 'owner', 'acme')
})
afterAll(async () => {
  file?.close()
  await house?.close()
  rmSync(dataDir, { recursive: true, force: true })
})

/** A key that this person made, a request by it, a member to be removed, and somebody who is invited. */
async function furnishFor(
  browser: Browser,
  account: string,
  hasInvited = true,
): Promise<typeof target> {
  const page = await browser.open(`/cabinet/keys/new?account=${account}`)
  const made = await post(browser, house.authUrl, `/cabinet/keys/new?account=${account}`, {
    csrf: csrfOf(page),
    name: `key ${crypto.randomUUID()}`,
    daily_spend_limit_usd: '1',
  })
  const key = /\/cabinet\/keys\/(key_[^/]+)\/secret/.exec(made.url)?.[1] ?? ''
  const secret = /<code id="secret">([^<]+)</.exec(made.text)?.[1] ?? ''
  const answer = await fetch(`${house.gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }),
  })
  await answer.text()
  const request = answer.headers.get('x-generation-id') ?? ''
  const member = `m-${crypto.randomUUID().slice(0, 8)}@example.org`
  const { id: person } = await house.act('accounts.members.add', {
    account,
    email: member,
    role: 'member',
  })
  const asked = { account, email: `i-${crypto.randomUUID()}@example.org`, role: 'member' } as const
  // So many a day.
  const invited = hasInvited ? (await house.act('accounts.members.invite', asked)).id : ''
  return { key, request, person, invited }
}

const pathOf = ({ path }: Route, { named = {} }: Row): string =>
  Object.entries(named).reduce(
    (all, [part, what]) => all.replace(part, target[what as keyof typeof target] ?? what),
    path,
  )

async function ask(browser: Browser, route: Route, account = 'default'): Promise<Page> {
  const row = ROWS[nameOf(route)] ?? {}
  const path = `${pathOf(route, row)}?account=${account}`
  if (route.method === 'GET') {
    if (path.startsWith('/cabinet/live')) return await firstOf(browser, path)
    return await browser.open(path)
  }
  const page = await browser.open('/cabinet/you')
  const fields = Object.fromEntries(
    Object.entries(row.fields ?? {}).map(([name, value]) => [
      name,
      value === 'KEY' ? target.key : value,
    ]),
  )
  return await post(browser, house.authUrl, path, { csrf: csrfOf(page), account, ...fields })
}

/** Of a stream that does not end. */
async function firstOf(browser: Browser, path: string): Promise<Page> {
  const cut = new AbortController()
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const answer = await fetch(house.authUrl + path, {
    headers: { cookie, accept: 'text/event-stream' },
    redirect: 'manual',
    signal: cut.signal,
  })
  const { status, headers } = answer
  const { value } = (await answer.body?.getReader().read()) ?? {}
  cut.abort()
  return { url: path, status, headers, text: new TextDecoder().decode(value) }
}

test('every route has a row, and no row is left over', () => {
  expect(Object.keys(ROWS).toSorted()).toEqual(ROUTES.map(nameOf).toSorted())
})

const IN_ORDER = [...ROUTES].sort(
  (a, b) => Object.keys(ROWS).indexOf(nameOf(a)) - Object.keys(ROWS).indexOf(nameOf(b)),
)

describe.each(ROLES)('a %s', (role: Role) => {
  test('is answered what the table of roles permits, and nothing else', async () => {
    const owner = await house.person(`boss-of-${role}@example.org`, 'owner')
    const { browser } = await house.person(`${role}@example.org`, role)
    for (const route of IN_ORDER) {
      const row = ROWS[nameOf(route)] ?? {}
      const { status = 200, isNoAct = false } = row
      const maker = role === 'viewer' ? owner.browser : browser
      if (isAimed(row)) target = await furnishFor(maker, 'default', invites(row))
      const permitted = mayDo(role, route.needs)
      const changes = route.method === 'POST' && permitted && status === 200
      const untouched = () => (changes ? stored(acme) : stored())
      const [before, kept] = [await acts(), untouched()]
      const page = await ask(browser, route)
      expect([nameOf(route), page.status]).toEqual([nameOf(route), permitted ? status : 403])
      expect([nameOf(route), untouched()]).toEqual([nameOf(route), kept])
      const more = changes && !isNoAct ? 1 : 0
      expect([nameOf(route), await acts()]).toEqual([nameOf(route), before + more])
    }
    expect(house.faults).toEqual([])
  })

  test('is told of nothing that another account has, and changes nothing of it', async () => {
    const theirs = await house.person(`theirs-${role}@example.org`, 'owner', 'acme')
    const { browser } = await house.person(`stranger-${role}@example.org`, role)
    target = await furnishFor(theirs.browser, 'acme')
    const before = stored()
    for (const route of IN_ORDER.filter((one) => one.path !== '/cabinet/you/sessions/all')) {
      const { isNamed = false } = ROWS[nameOf(route)] ?? {}
      // By the other account's name there is nothing at all.
      const elsewhere = await ask(browser, route, 'acme')
      expect([nameOf(route), elsewhere.status]).toEqual([nameOf(route), 404])
      if (!isNamed || !mayDo(role, route.needs)) continue
      const here = await ask(browser, route)
      expect([nameOf(route), here.status]).toEqual([nameOf(route), 404])
    }
    expect(stored()).toEqual(before)
  })
})

test('a member is told of nothing that another of the account has made, and changes nothing of it', async () => {
  const other = await house.person('other-member@example.org', 'member')
  const { browser } = await house.person('one-member@example.org', 'member')
  target = await furnishFor(other.browser, 'default')
  const before = stored()
  for (const route of IN_ORDER) {
    const { isNamed = false } = ROWS[nameOf(route)] ?? {}
    if (!isNamed || !mayDo('member', route.needs)) continue
    const page = await ask(browser, route)
    expect([nameOf(route), page.status]).toEqual([nameOf(route), 404])
  }
  expect(stored()).toEqual(before)
})

test('by no other method is anything answered, or changed', async () => {
  const { browser } = await house.person('methods@example.org', 'owner')
  target = await furnishFor(browser, 'default')
  const csrf = csrfOf(await browser.open('/cabinet/you'))
  const before = stored()
  for (const path of new Set(ROUTES.map((route) => route.path))) {
    const known = ROUTES.filter((route) => route.path === path)
    const [route] = known
    if (route === undefined) continue
    const at = `${pathOf(route, ROWS[nameOf(route)] ?? {})}?account=default`
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'POST']) {
      if (known.some((one) => one.method === method)) continue
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const body = new URLSearchParams({ csrf, account: 'default' }).toString()
      const page = await browser.open(at, { method, headers, body })
      expect([method, path, page.status]).toEqual([method, path, 404])
    }
  }
  expect(stored()).toEqual(before)
})

test('somebody removed, and somebody signed out, get nothing from the next request on', async () => {
  const { browser, id } = await house.person('gone@example.org', 'owner')
  const owner = await house.person('boss@example.org', 'owner')
  target = await furnishFor(owner.browser, 'default')
  await house.act('accounts.members.remove', { account: 'default', person: id })
  const before = stored()
  for (const route of IN_ORDER) {
    const page = await ask(browser, route)
    expect([nameOf(route), page.status === 403 || page.status === 404]).toEqual([
      nameOf(route),
      true,
    ])
  }
  expect(stored()).toEqual(before)
  const { browser: left } = await house.person('left@example.org', 'owner')
  const page = await left.open('/cabinet')
  await left.submit(page, '/cabinet/sign-out', {})
  const after = stored()
  for (const route of IN_ORDER.filter(({ path }) => path !== '/cabinet/live')) {
    const asked = await ask(left, route)
    expect([nameOf(route), asked.url.includes('/sign-in/')]).toEqual([nameOf(route), true])
  }
  expect(stored()).toEqual(after)
})
