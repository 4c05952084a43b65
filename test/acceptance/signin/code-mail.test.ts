// A code's mail survives an unavailable mail server and a killed program, and is encrypted while it waits.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readDatabase, until } from '#test/support/appliance.ts'
import { startMailServer } from '#test/support/mail-server.ts'
import { authorizeUrl, codeOf, openSigninGateway, type SigninGateway } from './signin-gateway.ts'

async function openWith(reply: (nth: number) => number) {
  const mail = await startMailServer({ reply })
  const setup = await openSigninGateway({ GATEWAY_SMTP_URL: `smtp://127.0.0.1:${mail.port}` })
  onTestFinished(() => setup.close())
  const browser = setup.browser()
  const email = 'patient@example.org'
  const start = await browser.open(authorizeUrl(setup.authUrl, setup.client.client_id))
  const page = await browser.submit(start, '/email', { email })
  expect(page.status).toBe(200)
  return { mail, setup, browser, page, email }
}

interface Waiting {
  readonly tries: number
  readonly sealed: string
}

const waiting = ({ cli }: SigninGateway): Waiting[] =>
  readDatabase<Waiting>(cli, 'SELECT tries, sealed FROM code_mails')

/** All of the database's files on disk. */
const atRest = ({ cli }: SigninGateway): Buffer =>
  Buffer.concat(
    readdirSync(cli.dataDir)
      .filter((name) => name.startsWith('gateway.db'))
      .map((name) => readFileSync(join(cli.dataDir, name))),
  )

test('after a temporary refusal and a kill the code is sent after the restart, and was never stored in the clear', async () => {
  const { mail, setup, browser, page } = await openWith((nth) => (nth === 0 ? 451 : 250))
  await until(() => waiting(setup)[0]?.tries === 1, 'the first try has failed')
  await setup.killAndRestart()
  const bytes = atRest(setup)
  await until(() => mail.taken.length === 1, 'the mail has come')
  const digits = /^(\d{4}) (\d{4})\r?$/m.exec(mail.taken[0]?.source ?? '')
  const [, one = '', other = ''] = digits ?? []
  for (const text of [`${one} ${other}`, `${one}${other}`]) expect(bytes.includes(text)).toBe(false)
  expect(bytes.includes('Your sign-in code')).toBe(false)
  expect(bytes.includes('code_mails')).toBe(true)
  await until(() => waiting(setup).length === 0, 'nothing waits')
  const back = await browser.submit(page, '/code', { code: one + other })
  expect(codeOf(back)).toMatch(/^[\w-]{43}$/)
})

test('after a permanent refusal the mail is dropped, and the log says so without the address', async () => {
  const { mail, setup, email } = await openWith(() => 550)
  await until(() => /could not be sent: status 550/.test(setup.appliance.said()), 'the log says so')
  expect(waiting(setup)).toEqual([])
  expect(mail.asked).toEqual([email])
  expect(setup.appliance.said()).not.toContain(email)
})

test('users test-mail reports what the mail server says, with the gateway up and down, and is recorded', async () => {
  // The first for a code, the others for trials.
  const { mail, setup } = await openWith((nth) => (nth < 2 ? 250 : nth === 2 ? 550 : 451))
  const password = 'canary-password'
  const down = { GATEWAY_SMTP_URL: `smtp://ann:${password}@127.0.0.1:1` }
  const up = {
    GATEWAY_SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
    GATEWAY_SMTP_FROM: 'g@example.org',
  }
  await until(() => mail.taken.length === 1, 'the code was mailed')
  const trial = async (env: Readonly<Record<string, string>> = {}) => {
    const { code, out, err } = await setup.cli.runBeside(
      ['users', 'test-mail', 'trial@example.org', '--json'],
      { env },
    )
    expect(out + err).not.toMatch(/canary|secret words/)
    return [code, JSON.parse(out)]
  }
  const email = 'trial@example.org'
  expect(await trial()).toEqual([0, { email, accepted: true, status: 250, failure: null }])
  expect(mail.taken.at(-1)).toMatchObject({ to: [email] })
  expect(await trial()).toEqual([6, { email, accepted: false, status: 550, failure: 'status' }])
  await setup.appliance.stop()
  expect(await trial(up)).toEqual([6, { email, accepted: false, status: 451, failure: 'status' }])
  const from = { GATEWAY_SMTP_FROM: 'g@example.org' }
  expect(await trial({ ...down, ...from })).toEqual([
    6,
    { email, accepted: false, status: null, failure: 'refused' },
  ])
  expect(await trial()).toEqual([6, { email, accepted: false, status: null, failure: 'no_smtp' }])
  const acts = setup.cli.json<{ verb: string; changed: object }[]>(['activity', '--admin'])
  const tried = acts.filter(({ verb }) => verb === 'users.test-mail')
  expect(tried.map(({ changed }) => changed)).toMatchObject([
    { failure: 'no_smtp' },
    { failure: 'refused' },
    { status: 451 },
    { status: 550 },
    { accepted: true },
  ])
  expect(JSON.stringify(tried)).not.toContain(email)
})
