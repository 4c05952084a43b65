// What the screens tell: notices, ceilings, and the models that there are for an account and for a list.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { draftEvent } from '#domain/event.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import { csrfOf, type House, openHouse } from './house.ts'

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
