// A command line that signs its person in by the device flow: with openid-client, and with the script of docs/sign-in.md.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as client from 'openid-client'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { until } from '#test/support/appliance.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { blocksOf } from '../documented/pages.ts'
import type { Page } from './browser.ts'
import { openSigninGateway, type SigninGateway } from './signin-gateway.ts'

let setup: SigninGateway
let id: string

beforeAll(async () => {
  setup = await openSigninGateway()
  const made = ['clients', 'create', 'Shell', '--public', '--device'] as const
  id = setup.cli.json<{ readonly client_id: string }>(made).client_id
})
afterAll(() => setup.close())

/** What a person does elsewhere: types the code, confirms it, signs in, and agrees. */
async function approve(address: string, code: string, email: string): Promise<Page> {
  const browser = setup.browser()
  const typed = await browser.submit(await browser.open(address), '/device', { user_code: code })
  const asked = await browser.submit(typed, '/device', { confirm: 'yes' })
  const agreed = await setup.signIn(browser, asked, email)
  return browser.submit(agreed, '/consent', { decision: 'allow' })
}

test('openid-client asks until its person has come, and knows them', async () => {
  const insecure = { execute: [client.allowInsecureRequests] }
  const issuer = new URL(setup.authUrl)
  const config = await client.discovery(issuer, id, undefined, client.None(), insecure)
  const scope = 'openid email offline_access'
  const started = await client.initiateDeviceAuthorization(config, { scope })
  const tokens = client.pollDeviceAuthorizationGrant(config, started)
  const done = await approve(started.verification_uri, started.user_code, 'cli@example.org')
  expect(done.text).toContain('The device is signed in')
  const { access_token, refresh_token = '', claims } = await tokens
  const { sub = '' } = claims.call(await tokens) ?? {}
  const person = await client.fetchUserInfo(config, access_token, sub)
  expect(person.email).toBe('cli@example.org')
  const renewed = await client.refreshTokenGrant(config, refresh_token)
  expect(renewed.access_token).not.toBe(access_token)
  const events = setup.cli.json<readonly Record<string, unknown>[]>([
    ...['users', 'events', '--client', 'Shell'],
  ])
  expect(events.map(({ outcome, detail }) => [outcome, detail])).toContainEqual([
    'signed_in',
    'on a device',
  ])
}, 120_000)

test('the script of docs/sign-in.md prints who signed in', async () => {
  const script = blocksOf('docs/sign-in.md').find(({ language }) => language === 'bash')?.text
  const directory = tempDirectory()
  writeFileSync(join(directory, 'sign-in.sh'), script ?? '')
  const child = Bun.spawn(['bash', '-eu', 'sign-in.sh'], {
    cwd: directory,
    env: {
      PATH: process.env['PATH'] ?? '',
      ISSUER: setup.authUrl,
      CLIENT_ID: id,
      INTERVAL: '1',
    },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  onTestFinished(async () => {
    child.kill()
    await child.exited
  })
  let said = ''
  const reading = (async () => {
    const decoder = new TextDecoder()
    for await (const piece of child.stderr) said += decoder.decode(piece)
  })()
  const shown = () => /^Open (\S+) and enter (\S+)$/m.exec(said)
  await until(() => shown() !== null || child.exitCode !== null, 'the script shows a code')
  const [, address = '', code = ''] = shown() ?? []
  expect(code, said).not.toBe('')
  await approve(address, code, 'script@example.org')
  expect(JSON.parse(await new Response(child.stdout).text())).toMatchObject({
    email: 'script@example.org',
  })
  await reading
  expect(await child.exited).toBe(0)
}, 120_000)
