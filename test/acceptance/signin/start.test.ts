// Starting the sign-in provider: with a port in use, switched off, without a mail server, and as a demo.
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { openBrowser } from './browser.ts'
import { authorizeUrl, codeOf, REDIRECT, type RegisteredClient, redeem } from './signin-gateway.ts'

let cli: CliHarness

beforeAll(() => {
  cli = furnishCli(openCli())
})
afterAll(() => cli.close())

async function take(): Promise<{ readonly address: string; close(): void }> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const bound = server.address()
  const port = typeof bound === 'object' ? bound?.port : 0
  return { address: `127.0.0.1:${port}`, close: () => server.close() }
}

test('a configured port that is in use keeps the gateway from starting, and the error names that port', async () => {
  const taken = await take()
  try {
    const { code, err } = cli.run([
      'serve',
      '--listen',
      '127.0.0.1:0',
      '--auth-listen',
      taken.address,
    ])
    expect(code).toBe(1)
    expect(err).toBe(
      `error: cannot listen on ${taken.address}: the address is in use\nhint: gatewayctl serve --auth-listen 127.0.0.1:4151\n`,
    )
  } finally {
    taken.close()
  }
})

test('off: the gateway serves, and status shows that sign-in is off', async () => {
  const appliance = await startAppliance(cli, { flags: ['--auth-listen', 'off'] })
  try {
    expect(appliance.said()).not.toContain('sign-in')
    expect(cli.json<{ auth_url: null }>(['status']).auth_url).toBeNull()
  } finally {
    expect(await appliance.stop()).toBe(0)
  }
})

describe('without a mail server', () => {
  const arrive = async (...flags: string[]) => {
    const appliance = await startAppliance(cli, {
      flags: ['--auth-listen', '127.0.0.1:0', ...flags],
    })
    onTestFinished(async () => void (await appliance.stop()))
    const authUrl = /"auth_url":"(http:\/\/[\d.:]+)/.exec(appliance.said())?.[1] ?? ''
    return { appliance, authUrl, browser: openBrowser(authUrl) }
  }

  test('e-mail sign-in is off: the page says so, and no code is in the log', async () => {
    const { client_id } = cli.json<RegisteredClient>([
      'clients',
      'create',
      'Wiki',
      '--redirect-uri',
      REDIRECT,
    ])
    const { appliance, authUrl, browser } = await arrive()
    const page = await browser.open(authorizeUrl(authUrl, client_id))
    expect(page.status).toBe(200)
    expect(page.text).toContain('Nobody can sign in here yet')
    expect(page.text).not.toContain('<form')
    const asked = await browser.open(`${page.url}/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'email=a%40example.org',
    })
    expect(asked.status).toBe(400)
    expect(appliance.said()).not.toMatch(/sign-in code|\d{8}/)
  })

  test('the demo prints the code, and the client of its banner can sign in', async () => {
    const appliance = await startAppliance(cli, {
      flags: ['--demo', '--auth-listen', '127.0.0.1:0'],
    })
    onTestFinished(async () => void (await appliance.stop()))
    const [, authUrl = ''] = /^ {2}sign-in +(\S+)/m.exec(appliance.said()) ?? []
    const [, client_id = '', client_secret = '', redirect_uri = ''] =
      /^ {2}client +(\S+) +(\S+) +(\S+)$/m.exec(appliance.said()) ?? []
    const browser = openBrowser(authUrl)
    const page = await browser.open(authorizeUrl(authUrl, client_id, { redirect_uri }))
    const asked = await browser.submit(page, '/email', { email: 'try@example.org' })
    expect(asked.text).toContain('in the server’s log')
    const told = /^sign-in code for try@example\.org: (\d{8})$/m
    await until(() => told.test(appliance.said()), 'the code is printed')
    const [, code = ''] = told.exec(appliance.said()) ?? []
    const back = await browser.submit(asked, '/code', { code })
    expect(back.url.startsWith(redirect_uri)).toBe(true)
    const tokens = await redeem(authUrl, { client_id, client_secret }, codeOf(back))
    expect(tokens.status).toBe(200)
  })
})
