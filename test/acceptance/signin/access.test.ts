// An application that a person may not enter, on the compiled program: a page that says whom to ask, a way back, and the events of it.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { authorizeUrl, openSigninGateway, REDIRECT, type SigninGateway } from './signin-gateway.ts'

const EMAIL = 'ann@example.org'
const CONTACT = 'Jane Doe <it@example.org>'

let setup: SigninGateway
beforeAll(async () => {
  setup = await openSigninGateway({ GATEWAY_CABINET_CONTACT: CONTACT })
})
afterAll(() => setup?.close())

const listed = (...flags: readonly string[]) =>
  setup.cli
    .json<readonly { outcome: string; refused: boolean; email: string; client: string }[]>([
      ...['users', 'events', ...flags],
    ])
    .map(({ outcome, refused, email }) => [outcome, refused, email])

test('a person of no group is told whom to ask, and enters once they are in it', async () => {
  const { client_id } = setup.register('Ledger', '--allow', 'finance')
  const browser = setup.browser()
  const form = await browser.open(authorizeUrl(setup.authUrl, client_id))
  const refused = await setup.signIn(browser, form, EMAIL)
  expect(refused.status).toBe(403)
  expect(refused.text).toContain('Jane Doe &lt;it@example.org&gt;')
  const back = new URL((await browser.submit(refused, '/leave', {})).url)
  expect([back.origin + back.pathname, back.searchParams.get('error')]).toEqual([
    REDIRECT,
    'access_denied',
  ])
  expect(listed('--client', client_id, '--refused')).toEqual([['not_allowed', true, EMAIL]])

  setup.cli.json(['groups', 'add', 'finance', EMAIL])
  const entered = await browser.open(authorizeUrl(setup.authUrl, client_id))
  expect(new URL(entered.url).searchParams.has('code')).toBe(true)
  expect(listed('--person', EMAIL).map(([outcome]) => outcome)).toEqual([
    'signed_in',
    'groups.add',
    'not_allowed',
    'signed_up',
    'code_sent',
  ])

  // Who entered it is asked after it has gone, too; what never was is refused.
  setup.cli.json(['clients', 'remove', client_id, '--yes'])
  expect(listed('--client', client_id, '--outcome', 'signed_in')).toEqual([
    ['signed_in', false, EMAIL],
  ])
  const { id } = setup.cli.json<{ readonly id: string }>(['users', 'show', EMAIL])
  setup.cli.json(['users', 'remove', EMAIL, '--yes'])
  expect(listed('--person', id).map(([outcome]) => outcome)).toEqual([
    'users.remove',
    ...['signed_in', 'groups.add', 'not_allowed', 'signed_up'],
  ])
  const unknown = setup.cli.run(['users', 'events', '--client', 'nobody'])
  expect([unknown.code, unknown.err]).toEqual([3, expect.stringContaining('"nobody"')])
})
