// What somebody hostile tries: a form of another site, a frame, words that run, ids of others, a form sent twice, a page from before.
// What only a browser shows of it is in test/acceptance/cabinet/browser.test.ts.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser } from '#test/acceptance/signin/browser.ts'
import { until } from '#test/support/appliance.ts'
import { dial, post as postText } from '#test/support/raw-client.ts'
import { CSV_GUARD } from './csv-guard.ts'
import { csrfOf, type House, openHouse, post } from './house.ts'

let house: House
let owner: Browser

beforeAll(async () => {
  house = await openHouse()
  owner = (await house.person('ann@example.org', 'owner')).browser
})
afterAll(() => house.close())

const acts = () => house.store.acts.list({ limit: 1_000 })
const keys = async (): Promise<number> => (await house.act('keys.list', {})).length

const newKey = async (
  name: string,
  more: Readonly<Record<string, string>> = {},
  browser = owner,
) => {
  const page = await browser.open('/cabinet/keys/new')
  const once = /name="once" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  return { csrf: csrfOf(page), once, name, ...more }
}

describe('CSRF: a form of another site', () => {
  test.each([
    ['without the token', {}, { csrf: '' }],
    ['with the token of another session', {}, { csrf: 'x'.repeat(43) }],
    ['from another origin', { origin: 'https://evil.example' }, {}],
    [
      'from another site, without an origin',
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
      {},
    ],
    ['from a sibling', { 'sec-fetch-site': 'same-site' }, {}],
  ])('%s is refused, and changes nothing', async (_, headers, fields) => {
    const before = await keys()
    const form = { ...(await newKey('forged')), ...fields }
    const page = await post(owner, house.authUrl, '/cabinet/keys/new', form, headers)
    expect(page.status).toBe(403)
    expect(await keys()).toBe(before)
  })

  test('a null origin passes where the browser says that it is this one', async () => {
    const form = await newKey('own')
    const headers = { origin: 'null', 'sec-fetch-site': 'same-origin' }
    expect((await post(owner, house.authUrl, '/cabinet/keys/new', form, headers)).status).toBe(200)
  })

  test('a body that is no form, or too long, is none', async () => {
    const before = await keys()
    const form = await newKey('long', { note: 'x'.repeat(70_000) })
    expect((await post(owner, house.authUrl, '/cabinet/keys/new', form)).status).toBe(403)
    const json = { 'content-type': 'application/json' }
    const small = await newKey('json')
    expect((await post(owner, house.authUrl, '/cabinet/keys/new', small, json)).status).toBe(403)
    expect(await keys()).toBe(before)
  })
})

test('clickjacking: no page may be framed, kept, or run anything but its own files', async () => {
  for (const path of ['/cabinet', '/cabinet/keys', '/cabinet/nothing', '/cabinet/keys/none']) {
    const { headers } = await owner.open(path)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("script-src 'self';")
    expect(policy).toContain("style-src 'self';")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('referrer-policy')).toBe('same-origin')
  }
})

test('no page has a style, a script or a handler within it', async () => {
  for (const path of [
    '/cabinet',
    '/cabinet/keys',
    '/cabinet/activity',
    '/cabinet/spend',
    '/cabinet/balance',
    '/cabinet/models',
    '/cabinet/people',
    '/cabinet/you',
  ]) {
    const { text } = await owner.open(path)
    expect([path, /<style|<script>| style="| on[a-z]+="|javascript:/.test(text)]).toEqual([
      path,
      false,
    ])
  }
})

describe('stored XSS: words that run', () => {
  const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(1)</script>`

  /** What a provider says when it is asked. */
  const provider = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () =>
      Response.json({ error: { message: HOSTILE, type: HOSTILE, code: HOSTILE } }, { status: 400 }),
  })
  afterAll(() => provider.stop(true))

  const ask = async (secret: string, model: string): Promise<string> => {
    const answer = await fetch(`${house.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ model, user: HOSTILE, messages: [{ role: 'user', content: 'hi' }] }),
    })
    await answer.text()
    return answer.headers.get('x-generation-id') ?? ''
  }

  test('are text wherever a person, an application or a provider can write them', async () => {
    const hostile = await house.person('hostile@example.org', 'owner', 'default', {
      'user-agent': HOSTILE,
    })
    const page = await post(
      hostile.browser,
      house.authUrl,
      '/cabinet/keys/new',
      await newKey(HOSTILE, { note: HOSTILE }, hostile.browser),
    )
    const secret = /<code id="secret">([^<]+)</.exec(page.text)?.[1] ?? ''
    const keyId = /cabinet\/keys\/(key_[^/]+)/.exec(page.url)?.[1] ?? ''
    await house.act('providers.add', {
      name: 'evil',
      type: 'openai-compatible',
      base_url: `http://127.0.0.1:${provider.port}/v1`,
      credential: null,
    })
    await house.act('models.add', { model: 'evil/m', in_usd: '1', out_usd: '1' })
    const [paid, refused, failed] = [
      await ask(secret, 'demo/echo'),
      await ask(secret, `demo/${HOSTILE.replaceAll(' ', '')}`),
      await ask(secret, 'evil/m'),
    ]
    await house.act('users.add', { email: 'x@example.org', name: HOSTILE, account: 'default' })
    await house.act('users.edit', { person: hostile.id, name: HOSTILE })
    await house.act('balance.top-up', { amount_usd: '1', note: HOSTILE })
    await house.linkIdentity(hostile.id, HOSTILE)
    await house.grant(hostile.browser, HOSTILE)
    const find = encodeURIComponent(HOSTILE)
    const SHOWN = {
      '/cabinet/keys': 1,
      [`/cabinet/keys?find=${find}`]: 2,
      [`/cabinet/keys/${keyId}`]: 2,
      '/cabinet/activity': 3,
      [`/cabinet/activity?user=${find}`]: 3,
      [`/cabinet/activity?key=${keyId}&model=${find}&since=${find}`]: 1,
      [`/cabinet/activity/${paid}`]: 2,
      [`/cabinet/activity/${refused}`]: 2,
      // What the provider says of its refusal.
      [`/cabinet/activity/${failed}`]: 2,
      '/cabinet/spend?by=user': 1,
      '/cabinet/spend?by=key': 1,
      [`/cabinet/spend?by=model&since=${find}`]: 1,
      '/cabinet/balance': 1,
      '/cabinet/models/demo/echo': 1,
      '/cabinet/people': 2,
      // The name, the browser, the sign-in that is linked, the application with access.
      '/cabinet/you': 4,
    }
    for (const [path, times] of Object.entries(SHOWN)) {
      const { text, status } = await hostile.browser.open(path)
      expect([path, status]).toEqual([path, 200])
      expect([path, text.includes('<img'), /<script>/.test(text)]).toEqual([path, false, false])
      const found = text.split('&lt;img').length - 1
      expect([path, found >= times, found]).toEqual([path, true, found])
    }
    await house.act('accounts.members.remove', { account: 'default', person: hostile.id })
  })

  test.each(CSV_GUARD)('in a file for a spreadsheet, %j is not a formula', async (user, cell) => {
    const secret = (await house.act('keys.create', { name: `csv ${crypto.randomUUID()}` })).key
    const answer = await fetch(`${house.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        model: 'demo/echo',
        user,
        messages: [{ role: 'user', content: 'hi' }],
      }),
    })
    await answer.text()
    const { text } = await owner.open('/cabinet/activity.csv')
    expect(text.split('\r\n')[1]).toContain(cell)
  })

  test('in a file for a spreadsheet, an amount below zero is not a formula', async () => {
    await house.act('balance.adjust', { amount_usd: '-0.25', note: 'a correction' })
    const { text } = await owner.open('/cabinet/balance.csv?kind=adjust')
    expect(text.split('\r\n')[1]).toContain(",adjust,'-0.25,")
  })
})

describe('session fixation and theft: a session', () => {
  test('is another one at each sign-in, and is kept by its digest alone', async () => {
    const first = await house.signIn('two@example.org')
    const second = await house.signIn('two@example.org')
    const [one, other] = [first.cookies.get('cabinet'), second.cookies.get('cabinet')]
    expect(one).toMatch(/^[\w-]{43}$/)
    expect(other).not.toBe(one)
    expect(await house.store.signin.artifacts.find('Cabinet', one ?? '')).toBeUndefined()
  })

  test('that somebody has planted is none', async () => {
    const answer = await fetch(`${house.authUrl}/cabinet`, {
      headers: { cookie: `cabinet=${'A'.repeat(43)}` },
      redirect: 'manual',
    })
    expect(answer.status).toBe(303)
    expect(answer.headers.get('location')).toMatch(/^\/oauth\/authorize\?/)
  })

  test('a callback that this browser has not asked for signs nobody in', async () => {
    const { headers, status } = await fetch(
      `${house.authUrl}/cabinet/callback?code=stolen&state=of-another&iss=${house.authUrl}`,
      { redirect: 'manual' },
    )
    expect(status).toBe(303)
    expect(headers.get('location')).toBe('/cabinet')
    expect(headers.getSetCookie().join()).not.toMatch(/cabinet=[\w-]{20}/)
  })

  test.each(['users.disable', 'users.remove', 'users.sessions.revoke'] as const)(
    '%s ends it with the next request',
    async (verb) => {
      const { browser, id } = await house.person(`${verb}@example.org`, 'owner')
      expect((await browser.open('/cabinet')).status).toBe(200)
      await house.act(verb, { person: id })
      expect((await browser.open('/cabinet')).url).toContain('/sign-in/')
    },
  )

  test('after signing out the provider asks for a code again, and the page from before is gone', async () => {
    const { browser } = await house.person('out@example.org', 'owner')
    const page = await browser.open('/cabinet/keys')
    await browser.submit(page, '/cabinet/sign-out', {})
    expect((await browser.open('/cabinet/keys')).text).toContain('name="email"')
  })

  test('a way back leads to the cabinet alone', async () => {
    for (const path of ['/cabinet/keys?sort=name', '/cabinet']) {
      const answer = await fetch(house.authUrl + path, { redirect: 'manual' })
      const begun =
        answer.headers
          .getSetCookie()
          .join()
          .match(/cabinet-begun=([^;]+)/)?.[1] ?? ''
      expect(JSON.parse(Buffer.from(begun, 'base64url').toString()).path).toBe(path)
    }
  })
})

describe('IDOR: an id of somebody else', () => {
  /** Somebody of another account, who has one of everything that has an id. */
  const furnish = async () => {
    await house.act('accounts.create', { name: 'theirs' })
    const account = 'theirs'
    await house.act('balance.top-up', { account, amount_usd: '5' })
    const key = await house.act('keys.create', { name: 'their-key', account })
    const answer = await fetch(`${house.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key.key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        model: 'demo/echo',
        user: 'their-user',
        messages: [{ role: 'user', content: 'hi' }],
      }),
    })
    await answer.text()
    const request = answer.headers.get('x-generation-id') ?? ''
    await house.act('thresholds.set', { account, email: 'them@example.org' })
    const { event_id: event } = await house.act('thresholds.test', { account })
    const { browser, id: person } = await house.person('them@example.org', 'owner', account)
    await house.grant(browser, 'Their application')
    const [access] = await house.act('users.access.list', { person })
    const [session] = await house.act('users.sessions.list', { person })
    return { key, request, event, person, browser, access: access?.id, session: session?.id }
  }
  let theirs: Awaited<ReturnType<typeof furnish>>
  /** What a page says of theirs, beside what it was asked for. */
  const tellsOf = (text: string, path: string): readonly string[] =>
    ['their-key', 'their-user', 'them@example.org'].filter(
      (name) => text.includes(name) && !path.includes(name),
    )
  beforeAll(async () => {
    theirs = await furnish()
  })

  test.each([
    ['the key to try a model with', '/cabinet/models/demo/echo', 'key'],
    ['a notice to send again', '/cabinet/balance/deliveries', 'event'],
    ['a session to end', '/cabinet/you/sessions', 'session'],
    ['an application’s access to withdraw', '/cabinet/you/access', 'access'],
  ] as const)('in a form: %s is not there, and stays as it is', async (_, path, field) => {
    const id = field === 'key' ? theirs.key.id : theirs[field]
    expect(id).toMatch(/./)
    const csrf = csrfOf(await owner.open('/cabinet/you'))
    const before = JSON.stringify(await acts())
    const form = { csrf, prompt: 'hi', [field]: id ?? '' }
    const page = await post(owner, house.authUrl, path, form)
    expect(page.status).toBe(404)
    expect(JSON.stringify(await acts())).toBe(before)
    expect((await theirs.browser.open('/cabinet')).url).toContain('/cabinet')
    const open = await house.act('users.access.list', { person: theirs.person })
    expect(open.map((one) => one.id)).toEqual([theirs.access])
  })

  test('in an address: a key by its id, its name or its prefix, a request, a person by id or address', async () => {
    const { key, request, person } = theirs
    for (const path of [
      `/cabinet/keys/${key.id}`,
      `/cabinet/keys/${key.name}`,
      `/cabinet/keys/${encodeURIComponent(key.label)}`,
      `/cabinet/keys/${key.key}`,
      `/cabinet/keys/${key.id}/secret`,
      `/cabinet/activity/${request}`,
      `/cabinet/activity/${request.slice(-8)}`,
      `/cabinet/people/${person}/remove`,
      '/cabinet/people/them@example.org/remove',
    ]) {
      const page = await owner.open(path)
      expect([path, page.status]).toEqual([path, 404])
      expect([path, tellsOf(page.text, path)]).toEqual([path, []])
    }
  })

  test('in a filter: nothing is listed, saved or added up, from wherever it begins', async () => {
    const { key, request } = theirs
    for (const path of [
      `/cabinet/activity?key=${key.id}`,
      '/cabinet/activity?key=their-key',
      '/cabinet/activity?user=their-user',
      `/cabinet/activity?before=${request}~`,
      `/cabinet/activity.csv?key=${key.id}`,
      '/cabinet/activity.csv?user=their-user',
      '/cabinet/spend?by=user',
      '/cabinet/spend.csv?by=key',
      '/cabinet/balance.csv',
      `/cabinet/balance?before=${request}`,
      '/cabinet/keys?find=their-key&revoked=1',
    ]) {
      const page = await owner.open(path)
      expect([path, page.status]).toEqual([path, 200])
      expect([path, tellsOf(page.text, path), page.text.includes(`/${request}"`)]).toEqual([
        path,
        [],
        false,
      ])
    }
  })

  test('in the choice of an account: it stays what it was', async () => {
    const { id } = await house.act('accounts.show', { name: 'theirs' })
    const page = await owner.open('/cabinet/you')
    await post(owner, house.authUrl, '/cabinet/account', { csrf: csrfOf(page), account: id })
    expect((await owner.open('/cabinet')).text).not.toContain('theirs')
  })

  test('a field that no page has changes nothing: whose a key is, its kind, its maker', async () => {
    const form = await newKey('plain', {
      kind: 'provisioning',
      made_by: theirs.person,
      account_id: theirs.key.account,
      expires_at: '2000-01-01T00:00:00Z',
    })
    await post(owner, house.authUrl, '/cabinet/keys/new', form)
    expect(await house.act('keys.show', { key: 'plain' })).toMatchObject({
      kind: 'ordinary',
      account: 'default',
      made_by: 'ann@example.org',
      expires_at: null,
    })
  })
})

describe('a replayed form', () => {
  test('makes one key, and the second leads to the same secret, which is shown once', async () => {
    const before = await keys()
    const form = await newKey('twice')
    const [first, second] = await Promise.all([
      post(owner, house.authUrl, '/cabinet/keys/new', form),
      post(owner, house.authUrl, '/cabinet/keys/new', form),
    ])
    expect(await keys()).toBe(before + 1)
    expect(first.url).toBe(second.url)
    expect([first.status, second.status].toSorted()).toEqual([200, 410])
    const again = await owner.open(first.url)
    expect(again.status).toBe(410)
    expect(again.text).not.toMatch(/if-[A-Za-z0-9]{30}/)
  })

  test('makes one key by a token that no page of ours has made, too', async () => {
    const form = { ...(await newKey('made up')), once: 'x' }
    const first = await post(owner, house.authUrl, '/cabinet/keys/new', form)
    expect([first.status, first.text]).toEqual([200, expect.stringMatching(/if-[A-Za-z0-9]{30}/)])
    const before = await keys()
    expect((await post(owner, house.authUrl, '/cabinet/keys/new', form)).url).toBe(first.url)
    expect(await keys()).toBe(before)
  })

  test('that was refused and is sent several times at once comes to an end each time', async () => {
    const form = await newKey('late', { rpm_limit: 'many' })
    expect((await post(owner, house.authUrl, '/cabinet/keys/new', form)).status).toBe(400)
    const all = Array.from({ length: 20 }, () =>
      post(owner, house.authUrl, '/cabinet/keys/new', form),
    )
    expect((await Promise.all(all)).map(({ text }) => text)).not.toContain('')
  })

  test('is corrected and sent again under another token where it was refused', async () => {
    const form = await newKey('refused', { rpm_limit: 'many' })
    const refused = await post(owner, house.authUrl, '/cabinet/keys/new', form)
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('rpm_limit')
    expect(refused.text).toContain('value="refused"')
    const once = /name="once" value="([^"]+)"/.exec(refused.text)?.[1] ?? ''
    expect(once).not.toBe(form.once)
    const sent = await post(owner, house.authUrl, '/cabinet/keys/new', {
      ...form,
      once,
      rpm_limit: '5',
    })
    expect(sent.status).toBe(200)
  })
})

test('two tabs: a form changes the account of its own page, whichever was chosen since', async () => {
  await house.act('accounts.create', { name: 'second' })
  await house.act('accounts.members.add', {
    account: 'second',
    email: 'ann@example.org',
    role: 'owner',
  })
  const form = await owner.open('/cabinet/keys/new?account=default')
  const other = await owner.open('/cabinet?account=second')
  const second = /<option value="(acct_[^"]+)" selected>second/.exec(other.text)?.[1] ?? ''
  await post(owner, house.authUrl, '/cabinet/account', { csrf: csrfOf(other), account: second })
  expect((await owner.open('/cabinet')).text).toContain('selected>second')
  const account = /name="account" value="(acct_[^"]+)"/.exec(form.text)?.[1] ?? ''
  const made = await post(owner, house.authUrl, '/cabinet/keys/new', {
    csrf: csrfOf(form),
    account,
    name: 'of-default',
  })
  expect([made.status, made.text]).toEqual([200, expect.stringMatching(/if-[A-Za-z0-9]{30}/)])
  expect((await house.act('keys.show', { key: 'of-default' })).account).toBe('default')
  await house.act('accounts.members.remove', { account: 'second', person: 'ann@example.org' })
})

test('two tabs: what the other has ended meanwhile is not changed, and the page says so', async () => {
  const page = await post(owner, house.authUrl, '/cabinet/keys/new', await newKey('of two tabs'))
  const key = /cabinet\/keys\/(key_[^/]+)/.exec(page.url)?.[1] ?? ''
  const csrf = csrfOf(await owner.open(`/cabinet/keys/${key}`))
  await post(owner, house.authUrl, `/cabinet/keys/${key}/revoke`, { csrf })
  const before = JSON.stringify(await acts())
  for (const [step, fields] of [
    ['limits', { rpm_limit: '9' }],
    ['rotate', { grace: '0' }],
  ] as const) {
    const late = await post(owner, house.authUrl, `/cabinet/keys/${key}/${step}`, {
      csrf,
      ...fields,
    })
    expect([step, late.status]).toEqual([step, 409])
    expect(late.text).toContain('revoked')
  }
  await post(owner, house.authUrl, `/cabinet/keys/${key}/revoke`, { csrf })
  expect(JSON.stringify(await acts())).toBe(before)
})

test('more than 120 changes within a minute are refused, with when the next may come', async () => {
  const { browser } = await house.person('fast@example.org', 'viewer')
  const csrf = csrfOf(await browser.open('/cabinet/you'))
  const ask = () => post(browser, house.authUrl, '/cabinet/keys/new', { csrf, name: 'x' })
  for (let n = 0; n < 120; n++) expect((await ask()).status).toBe(403)
  const refused = await ask()
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
})

test('more than ten prompts within a minute are refused, with when the next may come, and cost nothing', async () => {
  const { browser } = await house.person('asks@example.org', 'owner')
  const { id: key } = await house.act('keys.create', { name: 'tried' })
  const { text } = await browser.open('/cabinet/models/demo/echo')
  const csrf = csrfOf({ text } as never)
  const ask = () =>
    post(browser, house.authUrl, '/cabinet/models/demo/echo', { csrf, key, prompt: 'hi' })
  for (let n = 0; n < 10; n++) expect((await ask()).status).toBe(200)
  const refused = await ask()
  expect(refused.status).toBe(429)
  expect(refused.text).toMatch(/can be asked in \d+ second/)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await house.act('activity.count', { key })).toMatchObject({ count: 10 })
})

test('nobody is flooded with invitations: three a day to one address, fifty of one account', async () => {
  await house.act('accounts.create', { name: 'inviting' })
  const { browser } = await house.person('invites@example.org', 'owner', 'inviting')
  const csrf = csrfOf(await browser.open('/cabinet/people'))
  const invite = (email: string) =>
    post(browser, house.authUrl, '/cabinet/people', { csrf, email, role: 'viewer' })
  for (let n = 0; n < 3; n++) expect((await invite('Flooded@example.org')).status).toBe(200)
  const fourth = await invite('flooded@EXAMPLE.org')
  expect(fourth.status).toBe(429)
  expect(fourth.text).toMatch(
    /At most 3 invitations are sent to one address within a day.*in (?:1d 0h|23h 59m)/,
  )
  for (let n = 0; n < 47; n++) expect((await invite(`n${n}@example.org`)).status).toBe(200)
  const last = await invite('late@example.org')
  expect(last.status).toBe(429)
  expect(last.text).toContain('At most 50 invitations are sent of one account')
  expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(80_000)
  expect(await house.act('users.list', { matching: 'late@' })).toEqual([])
})

test('nobody is flooded with notices: ten tests and ten changes of the threshold of one account a day, however many at once', async () => {
  const { id: accountId } = await house.act('accounts.create', { name: 'telling' })
  const { browser } = await house.person('tells@example.org', 'owner', 'telling')
  const csrf = csrfOf(await browser.open('/cabinet/balance'))
  const send = (path: string, fields = {}) =>
    post(browser, house.authUrl, `/cabinet/balance/${path}`, { csrf, ...fields })
  const set = (below: string) => send('threshold', { below, email: 'victim@elsewhere.example' })
  expect((await set('')).status).toBe(200)
  const tests = await Promise.all(Array.from({ length: 30 }, () => send('test')))
  expect(tests.filter(({ status }) => status === 200)).toHaveLength(10)
  const refused = await send('test')
  expect(refused.status).toBe(429)
  expect(refused.text).toMatch(/At most 10 test notices .* in (?:1d 0h|23h 59m)/)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(80_000)
  const sets = await Promise.all(Array.from({ length: 15 }, (_, n) => set(`${n + 1}`)))
  expect(sets.filter(({ status }) => status === 200)).toHaveLength(10)
  expect((await set('20')).text).toMatch(/changed at most 10 times .* in (?:1d 0h|23h 59m)/)
  const sent = await house.act('deliveries.list', { account: accountId, limit: 100 })
  // Of the ten changes the first alone was told of: the account was low already.
  expect(sent).toHaveLength(11)
  // The operator may.
  await house.act('thresholds.test', { account: accountId })
  const event = sent[0]?.event_id ?? ''
  const again = await send('deliveries', { event })
  expect(again.status).toBe(400)
  expect(again.text).toContain('It was delivered, or is on its way still.')
})

test('a name or a note that holds a secret is refused, and dollars that may be thousands', async () => {
  const { key: secret } = await house.act('keys.create', { name: 'leaked' })
  for (const fields of [{ name: `my ${secret}` }, { note: secret }]) {
    const answer = await post(owner, house.authUrl, '/cabinet/keys/new', {
      ...(await newKey('holder')),
      ...fields,
    })
    expect([answer.status, answer.text.includes('must not hold the secret of an API key')]).toEqual(
      [400, true],
    )
  }
  const csrf = csrfOf(await owner.open('/cabinet/people'))
  const typed = async (text: string) => [
    (await post(owner, house.authUrl, '/cabinet/people/allowance', { csrf, member_daily: text }))
      .status,
    (await post(owner, house.authUrl, '/cabinet/balance/threshold', { csrf, below: text })).status,
    (
      await post(owner, house.authUrl, '/cabinet/keys/new', {
        ...(await newKey('typed')),
        daily_spend_limit_usd: text,
      })
    ).status,
  ]
  expect(await typed('1,000')).toEqual([400, 400, 400])
  expect(await typed('$1,5')).toEqual([200, 200, 200])
  expect(await house.act('thresholds.show', {})).toMatchObject({ threshold_usd: '1.50' })
  expect(await typed('')).toEqual([200, 200, 200])
})

test('an open stream of figures ends within five seconds of its session', async () => {
  const { browser, id } = await house.person('live@example.org', 'owner')
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const answer = await fetch(`${house.authUrl}/cabinet/live`, {
    headers: { cookie, accept: 'text/event-stream' },
  })
  const reader = answer.body?.getReader()
  const first = new TextDecoder().decode((await reader?.read())?.value)
  expect(first).toMatch(/^event: figures\ndata: \{"shown":\{"balance":"\$/)
  const started = performance.now()
  await house.act('users.sessions.revoke', { person: id })
  let rest = ''
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true }
    if (done) break
    rest += new TextDecoder().decode(value)
  }
  expect(rest).toContain('event: ended')
  expect(performance.now() - started).toBeLessThan(5_000)
})

test('somebody who belongs to no account is told whom to ask', async () => {
  const browser = await house.signIn('nobody@example.org')
  const page = await browser.open('/cabinet')
  expect(page.status).toBe(403)
  expect(page.text).toContain('the operator')
})

describe('a form that comes slowly', () => {
  const people: number[] = []
  /** A new owner, and a form of theirs of which the last part is not sent yet. */
  const begin = async () => {
    const email = `slow-${people.push(0)}@example.org`
    const { id, browser } = await house.person(email, 'owner')
    const page = await browser.open('/cabinet/people')
    const account = /name="account" value="(acct_[^"]+)"/.exec(page.text)?.[1] ?? ''
    const fields = { csrf: csrfOf(page), account, email: `friend-of-${email}`, role: 'owner' }
    const body = new URLSearchParams(fields).toString()
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const client = dial(house.authUrl)
    const headers = {
      Cookie: cookie,
      Origin: house.authUrl,
      'Content-Type': 'application/x-www-form-urlencoded',
    }
    const whole = postText('/cabinet/people', headers, body)
    client.send(whole.slice(0, -9))
    // It has begun to come once what was sent later is answered.
    for (let n = 0; n < 3; n++) await browser.open('/cabinet/you')
    const end = async (): Promise<string> => {
      client.send(whole.slice(-9))
      await until(() => client.received.includes('HTTP/1.1'), 'it is answered')
      client.hangUp()
      return client.received
    }
    return { id, friend: fields.email, end }
  }
  const isMember = async (email: string) =>
    (await house.act('accounts.members.list', { account: 'default' })).some(
      (member) => member.email === email,
    )

  test('does what a quick one does', async () => {
    const { friend, end } = await begin()
    expect(await end()).toContain('303')
    expect(await isMember(friend)).toBe(true)
  })

  test('does nothing once the person is revoked, or is no owner any more', async () => {
    const revoked = await begin()
    await house.act('users.sessions.revoke', { person: revoked.id })
    await revoked.end()
    const demoted = await begin()
    await house.act('accounts.members.add', {
      account: 'default',
      email: `slow-${people.length}@example.org`,
      role: 'viewer',
    })
    expect(await demoted.end()).toContain('403')
    expect([await isMember(revoked.friend), await isMember(demoted.friend)]).toEqual([false, false])
  })
})
