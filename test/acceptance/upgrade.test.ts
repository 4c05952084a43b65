// From the previous release to this one and back, as an operator does it: keys, money, sign-ins and streams in progress.
import { copyFileSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NEWEST_SCHEMA_VERSION } from '#db/sqlite/engine/schema-version.ts'
import { BINARY } from '#scripts/compile.ts'
import { isTarget } from '#scripts/release/runtimes.ts'
import { openStage } from '#scripts/release/stage.ts'
import { readDatabase } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import {
  oks,
  type SyntheticUpstream,
  startSyntheticUpstream,
} from '#test/support/synthetic-upstream.ts'
import { FULL } from '#test/support/tier.ts'
import {
  authorizeUrl,
  codeOf,
  openSigninGateway,
  redeem,
  type SigninGateway,
} from './signin/signin-gateway.ts'

/** The last commit of 0.1.0, and its schema. */
const PREVIOUS = '9a272360'
const PREVIOUS_SCHEMA = 27

const BUILD_MS = 400_000
const HOST = `${process.platform}-${process.arch}`
const EMAIL = 'stays@example.org'
const CREDENTIAL = 'sk-of-a-provider'

let upstream: SyntheticUpstream<'plain'>

interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

let scratch: string
/** Where the operator has it: a release is a file that is put here. */
let installed: string
let previous: string
let gateway: SigninGateway

async function buildPrevious(): Promise<void> {
  if (!isTarget(HOST)) throw new Error(`no release is made for ${HOST}`)
  const stage = await openStage('.', PREVIOUS)
  try {
    await stage.build(HOST, process.execPath, previous)
  } finally {
    stage.close()
  }
}

function install(binary: string): void {
  copyFileSync(binary, `${installed}.new`)
  renameSync(`${installed}.new`, installed)
}

/** Everything of the ledger that both releases know. */
const ledger = () =>
  readDatabase(gateway.cli, 'SELECT id, kind, amount_nanos, generation_id FROM ledger ORDER BY id')

async function answers(key: string): Promise<void> {
  const messages = [{ role: 'user', content: 'is it still you?' }]
  const answer = await gateway.appliance.chat(key, { model: 'demo/echo', messages })
  expect([answer.status, await answer.text()]).toEqual([
    200,
    expect.stringContaining('is it still you?'),
  ])
}

/** A provider is asked with the credential that lies sealed in the database. */
async function reachesProvider(key: string): Promise<void> {
  const messages = [{ role: 'user', content: 'hi' }]
  const answer = await gateway.appliance.chat(key, { model: 'acme/m', messages })
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('ok ok ok')])
  const asked = (await upstream.requests()).at(-1)
  expect(asked?.headers['authorization']).toBe(`Bearer ${CREDENTIAL}`)
}

/** A stream that is still running when the gateway is told to stop: it ends whole, and then the gateway does. */
async function drains(key: string): Promise<void> {
  const content = Array.from({ length: 200 }, (_, n) => `word${n}`).join(' ')
  const body = { model: 'demo/echo', stream: true, messages: [{ role: 'user', content }] }
  const answer = await gateway.appliance.chat(key, body)
  let said = ''
  let ended: Promise<number> | undefined
  const decoder = new TextDecoder()
  for await (const chunk of answer.body ?? []) {
    said += decoder.decode(chunk, { stream: true })
    ended ??= gateway.appliance.stop()
  }
  expect(said).toContain('word199')
  expect(said.trimEnd().endsWith('data: [DONE]')).toBe(true)
  expect(await ended).toBe(0)
}

function isClean(): void {
  const { code, out, err } = gateway.cli.run(['audit'])
  expect([code, out + err]).toEqual([0, expect.stringContaining('audit clean')])
}

const refresh = (tokens: Tokens): Promise<Response> =>
  fetch(`${gateway.authUrl}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: tokens.refresh_token,
      ...gateway.client,
    }),
  })

const copyOf = (): string => join(gateway.cli.dataDir, `gateway.db.pre-migrate-${PREVIOUS_SCHEMA}`)

const hasPrevious =
  FULL && Bun.spawnSync(['git', 'cat-file', '-e', `${PREVIOUS}^{commit}`]).exitCode === 0
if (FULL && !hasPrevious) console.warn(`upgrade: skipped, this clone has no commit ${PREVIOUS}`)

describe.runIf(hasPrevious)('from the previous release', () => {
  let key: string
  let tokens: Tokens
  let charged: readonly unknown[]
  let browser: ReturnType<SigninGateway['browser']>

  /** Without a page: the session of this browser is enough. */
  async function isSignedIn(): Promise<void> {
    const asked = authorizeUrl(gateway.authUrl, gateway.client.client_id, { prompt: 'none' })
    const back = await browser.open(asked)
    expect((await redeem(gateway.authUrl, gateway.client, codeOf(back))).status).toBe(200)
    const userinfo = await fetch(`${gateway.authUrl}/oauth/userinfo`, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    })
    expect(await userinfo.json()).toMatchObject({ email: EMAIL })
  }

  beforeAll(async () => {
    upstream = await startSyntheticUpstream({
      plain: { kind: 'chat', promptTokens: 10, completionTokens: 3, chunks: oks(3) },
    })
    scratch = mkdtempSync(join(tmpdir(), 'gwctl-upgrade-'))
    installed = join(scratch, 'gatewayctl')
    previous = join(scratch, 'previous')
    await buildPrevious()
    install(previous)
    gateway = await openSigninGateway({}, { cli: openCli(installed) })
    key = gateway.cli.run(['keys', 'create', 'prod-web', '--rpm', '60', '-q']).out.trim()
    const flags = ['--type', 'openai-compatible', '--base-url', upstream.baseUrls.plain]
    const added = gateway.cli.run(['providers', 'add', 'acme', ...flags, '--no-check'], {
      stdin: CREDENTIAL,
    })
    expect(added.code, added.err).toBe(0)
    const prices = ['--in-usd', '1', '--out-usd', '2']
    gateway.cli.run(['models', 'add', 'acme/m', '--provider', 'acme', '--upstream', 'm', ...prices])
    await answers(key)
    await reachesProvider(key)
    browser = gateway.browser()
    const offline = authorizeUrl(gateway.authUrl, gateway.client.client_id, {
      scope: 'openid email offline_access',
      prompt: 'consent',
    })
    const consent = await gateway.signIn(browser, await browser.open(offline), EMAIL)
    const granted = await browser.submit(consent, '/consent', { decision: 'allow' })
    const answer = await redeem(gateway.authUrl, gateway.client, codeOf(granted))
    tokens = (await answer.json()) as Tokens
  }, BUILD_MS)

  afterAll(async () => {
    await gateway?.close()
    await upstream?.stop()
    rmSync(scratch, { recursive: true, force: true })
  })

  test('streams end before it does, and no command but serve upgrades', async () => {
    await drains(key)
    charged = ledger()
    expect(charged.length).toBeGreaterThan(2)
    install(BINARY)
    const { code, err } = gateway.cli.run(['keys', 'list'])
    expect(code).toBe(1)
    expect(err).toContain(`this database is schema ${PREVIOUS_SCHEMA}`)
    expect(existsSync(copyOf())).toBe(false)
  })

  test('this release goes on: keys, ledger, people', async () => {
    await gateway.restart()
    expect(gateway.appliance.said()).toContain(`gateway.db.pre-migrate-${PREVIOUS_SCHEMA}`)
    expect(existsSync(copyOf())).toBe(true)
    expect(ledger()).toEqual(charged)
    isClean()
    await answers(key)
    await reachesProvider(key)
    await isSignedIn()
    const refreshed = await refresh(tokens)
    expect(refreshed.status).toBe(200)
    const keys = gateway.cli.json<{ name: string }[]>(['keys', 'list'])
    expect(keys.find(({ name }) => name === 'prod-web')).toMatchObject({ rpm_limit: 60 })
    isClean()
  })

  test('the previous release refuses what this one wrote, and says how to go back', async () => {
    await drains(key)
    install(previous)
    const refused = Bun.spawnSync([installed, 'serve', '--listen', '127.0.0.1:0'], {
      env: gateway.cli.env,
      timeout: 30_000,
    })
    expect(refused.exitCode).toBe(1)
    const said = refused.stderr.toString()
    expect(said).toContain(
      `this database is schema ${NEWEST_SCHEMA_VERSION}, this binary knows ${PREVIOUS_SCHEMA}`,
    )
    expect(said).toContain('restore a backup made before the upgrade')
  })

  test('the copy that the upgrade made is restored by it: all is as it was', async () => {
    const restore = ['backup', '--restore', copyOf(), '--confirm', 'gateway.db']
    const { code, err } = gateway.cli.run(restore)
    expect([code, err]).toEqual([0, expect.any(String)])
    expect(readdirSync(gateway.cli.dataDir).join(' ')).toContain('gateway.db.replaced-')
    await gateway.restart()
    expect(ledger()).toEqual(charged)
    isClean()
    await answers(key)
    await reachesProvider(key)
    await isSignedIn()
    tokens = (await (await refresh(tokens)).json()) as Tokens
    expect(tokens.access_token).toMatch(/^[\w-]{43}$/)
  })

  test('and forward once more', async () => {
    await drains(key)
    charged = ledger()
    install(BINARY)
    await gateway.restart()
    expect(ledger()).toEqual(charged)
    await answers(key)
    await reachesProvider(key)
    await isSignedIn()
    isClean()
  })
})
