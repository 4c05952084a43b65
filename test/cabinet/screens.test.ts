// What the screens tell: notices, ceilings, and the models that there are for an account and for a list.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { time } from '#cabinet/draw/parts.ts'
import { draftEvent } from '#domain/event.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { csrfOf, type House, openHouse, post } from './house.ts'

let house: House

beforeAll(async () => {
  house = await openHouse()
})
afterAll(() => house.close())

/** As a settlement raises it when a share of a ceiling is passed. */
async function passCeiling(key: { readonly id: string; readonly name: string }, percent: number) {
  const { accountId } = (await house.store.keys.find(key.id as KeyId)) ?? {}
  const facts = {
    account_id: accountId as AccountId,
    key_id: key.id as KeyId,
    key_name: key.name,
    limit: 'daily_spend_limit_usd' as const,
    limit_usd: '5.00',
    used_usd: '4.00',
    percent,
    resets_at: '2030-01-01T00:00:00Z',
  }
  const event = draftEvent('gateway.key_ceiling', facts, house.clock.now())
  expect(await house.store.events.raise(event, null)).toBe(true)
}

test('the overview has the notices of the account, in the language of the person, and a member those of their own keys', async () => {
  await house.act('accounts.create', { name: 'noticed' })
  const owner = await house.person('ann@example.org', 'owner', 'noticed')
  const member = await house.person('mia@example.org', 'member', 'noticed')
  const key = await house.act('keys.create', { account: 'noticed', name: 'busy' })
  const elsewhere = await house.act('keys.create', { name: 'elsewhere' })
  await passCeiling(key, 80)
  await passCeiling(elsewhere, 80)
  const says = 'Key busy has used 80 % of its ceiling of $5.00 a day: $4.00'
  const page = await owner.browser.open('/cabinet')
  expect(page.text).toContain(`<a href="/cabinet/keys/${key.id}"><bdi>${says}</bdi></a>`)
  expect(page.text).not.toContain('elsewhere')
  await house.act('users.language', { person: owner.id, language: 'ru' })
  expect((await owner.browser.open('/cabinet')).text).toContain(
    'Ключ busy: израсходовано 80 % потолка $5.00 в день, потрачено $4.00',
  )
  const theirs = await member.browser.open('/cabinet')
  expect([theirs.status, theirs.text.includes('busy')]).toEqual([200, false])
})

test('what is spent is held against the account’s own ceiling, where it has one', async () => {
  await house.act('accounts.create', { name: 'capped', daily_spend_limit_usd: '8' })
  // Before anybody looks: what a slow machine has read is kept for some seconds.
  await house.act('keys.create', { account: 'capped', name: 'k', daily_spend_limit_usd: '2' })
  const { browser } = await house.person('cap@example.org', 'owner', 'capped')
  expect((await browser.open('/cabinet')).text).toContain('>0 % of $8.00<')
  await house.act('accounts.set-limits', { account: 'capped', concurrency_limit: 3 })
  const bound = await browser.open('/cabinet')
  expect(bound.text).toContain('Limits of the account')
  expect(bound.text).toMatch(/<dt>At once<\/dt><dd>0 of 3</)
  const member = await house.person('cap-member@example.org', 'member', 'capped')
  expect((await member.browser.open('/cabinet')).text).not.toContain('Limits of the account')
  await house.act('accounts.set-limits', { account: 'capped', daily_spend_limit_usd: null })
  expect((await browser.open('/cabinet')).text).toContain('>0 % of the keys’ $2.00<')
})

test('a model that the account may not use is on no screen', async () => {
  await house.act('accounts.create', { name: 'few', allowed_models: ['demo/echo'] })
  const { browser } = await house.person('few@example.org', 'owner', 'few')
  const { text } = await browser.open('/cabinet/models')
  expect([text.includes('demo/echo'), text.includes('demo/lorem')]).toEqual([true, false])
  expect((await browser.open('/cabinet/models/demo/lorem')).status).toBe(404)
  expect((await browser.open('/cabinet/keys/new')).text).toContain('These match 1 model:')
})

test('while a list is typed, the models that it allows are shown', async () => {
  const { browser } = await house.person('types@example.org', 'owner')
  const of = async (list: string) =>
    (await browser.open(`/cabinet/keys/matches?allowed_models=${encodeURIComponent(list)}`)).text
  expect(await of('demo/*')).toContain('demo/lorem')
  expect(await of('demo/echo\ndemo/image')).toMatch(
    /These match 2 models:.*demo\/echo.*demo\/image/,
  )
  expect(await of('other/*')).toContain('These match 0 models:')
  expect(await of('')).toContain('demo/lorem')
})

test('days have their requests beside what was spent, and the numbers are in a table', async () => {
  const { browser } = await house.person('days@example.org', 'owner')
  const { key } = await house.act('keys.create', { name: 'counted' })
  for (let n = 0; n < 3; n++) {
    const answer = await fetch(`${house.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }),
    })
    await answer.text()
  }
  const { days } = await house.act('accounts.overview', { account: 'default' })
  const { requests = 0, spend_usd = '' } = days.at(-1) ?? {}
  expect(requests).toBe(3)
  const { text } = await browser.open('/cabinet')
  const table = /<caption class="unseen">Spend of 30 days<.*?<\/table>/s.exec(text)?.[0] ?? ''
  expect(table).toMatch(/data-title="Requests" class="num">3</)
  expect(table).toContain(`$${spend_usd}<`)
})

test('the signing secret of a webhook is shown on the page of its own account', async () => {
  const webhook_url = 'https://hooks.example.org'
  const email = 'two@example.org'
  const secrets: string[] = []
  for (const account of ['first', 'second']) {
    await house.act('accounts.create', { name: account })
    await house.act('accounts.members.add', { account, email, role: 'owner' })
  }
  const browser = await house.signIn(email)
  for (const account of ['first', 'second']) {
    const page = await browser.open(`/cabinet/balance?account=${account}`)
    const form = { csrf: csrfOf(page), account, below: '1', webhook: webhook_url }
    // It answers with the way to the secret, which is not followed yet.
    const { status } = await fetch(`${house.authUrl}/cabinet/balance/threshold`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        origin: house.authUrl,
      },
      body: new URLSearchParams(form),
    })
    expect(status).toBe(303)
  }
  for (const account of ['first', 'second']) {
    const { text } = await browser.open(`/cabinet/balance/secret?account=${account}`)
    secrets.push(/<code id="secret">([^<]+)</.exec(text)?.[1] ?? '')
  }
  expect(secrets).not.toContain('')
  expect(new Set(secrets).size).toBe(2)
})

test('an address may end in a slash', async () => {
  const { browser } = await house.person('slash@example.org', 'owner')
  for (const path of ['/cabinet/', '/cabinet/keys/?find=x', '/cabinet/models/demo/echo/'])
    expect([path, (await browser.open(path)).status]).toEqual([path, 200])
})

test('what is followed from a link that names an account is of that account, also what a script asks for by itself', async () => {
  await house.act('accounts.create', { name: 'linked' })
  const email = 'link@example.org'
  await house.act('accounts.members.add', { account: 'default', email, role: 'owner' })
  await house.act('accounts.members.add', { account: 'linked', email, role: 'owner' })
  await house.act('keys.create', { account: 'linked', name: 'of-linked' })
  const browser = await house.signIn(email)
  const lists = async () => (await browser.open('/cabinet/keys')).text.includes('of-linked')
  expect(await lists()).toBe(false)
  const headers = { accept: 'text/html', 'hx-trigger': 'requests' }
  await browser.open('/cabinet/activity?account=linked', { headers })
  expect(await lists()).toBe(false)
  await browser.open('/cabinet/activity?account=linked')
  expect(await lists()).toBe(true)
})

test('a key counts for a model if a request can be made with it, and only what speaks is tried', async () => {
  await house.act('accounts.create', { name: 'solo' })
  await house.act('keys.create', { account: 'solo', name: 'manager', kind: 'provisioning' })
  const { id: key } = await house.act('keys.create', { account: 'solo', name: 'stopped' })
  await house.act('keys.edit', { key, disabled: true })
  const { browser } = await house.person('solo@example.org', 'owner', 'solo')
  const echo = async () => (await browser.open('/cabinet/models/demo/echo')).text
  expect(await echo()).toMatch(/<dt>Keys that may use it<\/dt><dd><span class="dim">none</)
  await house.act('keys.edit', { key, disabled: false })
  expect(await echo()).toMatch(/<dt>Keys that may use it<\/dt><dd>every key</)
  const { text } = await browser.open('/cabinet/models/demo/image')
  expect(text).not.toContain('name="prompt"')
  expect(text).toContain('&quot;modalities&quot;: [&quot;image&quot;]')
  expect(text.split('<details').length - 1).toBe(1)
})

test('a new key’s snippets name a model that it may use; one of the same name is told of', async () => {
  const { browser } = await house.person('snips@example.org', 'owner')
  const make = async (allowed_models: string) => {
    const csrf = csrfOf(await browser.open('/cabinet/keys/new'))
    const form = { csrf, name: 'snipped', allowed_models }
    return (await post(browser, house.authUrl, '/cabinet/keys/new', form)).text
  }
  const first = await make('demo/lorem')
  expect([first.includes('demo/lorem'), first.includes('demo/echo')]).toEqual([true, false])
  expect(first).not.toContain('has this name too')
  const second = await make('demo/image')
  expect(second).toContain('provider/model')
  expect(second).toContain('Another key has this name too.')
})

test('a form changes what was changed in it, and leaves what somebody else has changed meanwhile', async () => {
  await house.act('accounts.create', { name: 'stale' })
  const { id: key } = await house.act('keys.create', {
    account: 'stale',
    name: 'k',
    daily_spend_limit_usd: '100',
    allowed_models: ['demo/echo', 'demo/lorem'],
  })
  const { browser } = await house.person('stale@example.org', 'owner', 'stale')
  /** As a browser sends all of the form, which ends the lines of a text in its own way. */
  const filled = async (path: string, action: string) => {
    const { text } = await browser.open(path)
    const form = text.split(`action="${action}"`)[1]?.split('</form>')[0] ?? ''
    const inputs = [...form.matchAll(/<input[^>]* name="([^"]+)"[^>]* value="([^"]*)"/gs)]
    const texts = [...form.matchAll(/<textarea[^>]* name="([^"]+)"[^>]*>([^<]*)/gs)]
    const fields = [...inputs, ...texts].map(([, name = '', value = '']) => [name, value] as const)
    return Object.fromEntries(fields.map(([name, value]) => [name, value.replace(/\n/g, '\r\n')]))
  }
  const path = `/cabinet/keys/${key}`
  const form = await filled(path, `${path}/limits`)
  expect(form).toMatchObject({ daily_spend_limit_usd: '100.00' })
  await house.act('limits.set', { keys: [key], daily_spend_limit_usd: '1', allowed_models: null })
  await post(browser, house.authUrl, `${path}/limits`, { ...form, rpm_limit: '7' })
  expect(await house.act('keys.show', { key })).toMatchObject({
    rpm_limit: 7,
    daily_spend_limit_usd: '1.00',
    allowed_models: null,
  })
  // Shown again with what was wrong, it still knows what it was filled with.
  const wrong = await post(browser, house.authUrl, `${path}/limits`, { ...form, rpm_limit: 'x' })
  expect(wrong.text).toContain('name="was.daily_spend_limit_usd" value="100.00"')
  const named = await filled(path, `${path}/edit`)
  await house.act('keys.edit', { key, note: 'theirs' })
  await post(browser, house.authUrl, `${path}/edit`, { ...named, name: 'renamed' })
  expect(await house.act('keys.show', { key })).toMatchObject({ name: 'renamed', note: 'theirs' })
  const told = await filled('/cabinet/balance', '/cabinet/balance/threshold')
  await house.act('thresholds.set', { account: 'stale', email: 'new@example.org' })
  await post(browser, house.authUrl, '/cabinet/balance/threshold', { ...told, below: '0' })
  expect(await house.act('thresholds.show', { account: 'stale' })).toMatchObject({
    threshold_usd: '0',
    email: 'new@example.org',
  })
})

test('a time of another year has its hour, and a closed account says that it is', async () => {
  const clock = handClock('2027-01-01T00:00:30Z')
  const drawn = String(time({ language: 'en', at: clock.now() }, '2026-12-31T23:59:50Z'))
  expect(drawn).toContain('>31 Dec 2026, 23:59:50<')
  await house.act('accounts.create', { name: 'ended' })
  const { browser } = await house.person('ended@example.org', 'owner', 'ended')
  expect((await browser.open('/cabinet')).text).not.toContain('This account is closed')
  await house.act('accounts.close', { account: 'ended' })
  expect((await browser.open('/cabinet')).text).toContain('This account is closed')
})

test('a rotation that is refused is said on the page of the key', async () => {
  const { browser } = await house.person('rotates@example.org', 'member')
  const fields = { name: 'rotated', daily_spend_limit_usd: '1' }
  const csrf = csrfOf(await browser.open('/cabinet/keys/new'))
  await post(browser, house.authUrl, '/cabinet/keys/new', { csrf, ...fields })
  const { id } = (await house.act('keys.list', {})).find(({ name }) => name === 'rotated') ?? {}
  const path = `/cabinet/keys/${id}`
  const refused = await post(browser, house.authUrl, `${path}/rotate`, { csrf, grace: '-1' })
  expect(refused.status).toBe(400)
  expect(refused.text).toMatch(/<h1><bdi>rotated<.*<p class="problem" role="alert">/s)
  expect(refused.text).toContain(`action="${path}/rotate"`)
  const done = await post(browser, house.authUrl, `${path}/rotate`, { csrf, grace: '0' })
  expect(done.text).toContain('<code id="secret">')
})
