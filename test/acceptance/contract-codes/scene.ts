/** Sets up the contract's error codes: a running gateway, a provider whose models fail by name, and faults of the gateway itself. */
import { Database } from 'bun:sqlite'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { dial, head, type RawClient } from '#test/support/raw-client.ts'
import { type Socket, startProvider } from '#test/upstream/fixtures.ts'

/** The provider's credential: no response may contain it. */
export const CREDENTIAL = 'Zq8d2f60b1c4e7a935kVw'
/** The provider's Retry-After when it is busy: longer than the gateway itself waits. */
export const BUSY_SECONDS = 7

export interface Scene {
  readonly cli: CliHarness
  readonly gateway: Appliance
  /** `host:port` of the provider. */
  readonly host: string
  close(): Promise<void>
}

/** The response for each model of the provider; all others answer well. */
const FAILURES: Readonly<Record<string, (response: ServerResponse) => void>> = {
  broken: (response) =>
    fail(response, 500, { message: `no luck at http://10.1.2.3/${CREDENTIAL}` }),
  picky: (response) =>
    fail(response, 400, { message: 'temperature must be at most 1', param: 'temperature' }),
  short: (response) =>
    fail(response, 400, { code: 'context_length_exceeded', message: 'too long' }),
  busy: (response) =>
    fail(response, 429, { message: 'slow down' }, { 'retry-after': BUSY_SECONDS }),
  locked: (response) => fail(response, 401, { message: `bad key ${CREDENTIAL}` }),
  silent: () => {},
}

function fail(response: ServerResponse, status: number, error: object, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify({ error }))
}

function answerWell(response: ServerResponse): void {
  const message = { role: 'assistant', content: 'words' }
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage }))
}

/** The provider is `acme`; its `drawing` model should draw, and answers with text. */
export async function openScene(): Promise<Scene> {
  const cli = furnishCli(openCli())
  const provider: Socket = await startProvider((response, n) => {
    const model = String(provider.seen[n]?.body['model'])
    ;(FAILURES[model] ?? answerWell)(response)
  })
  const gateway = await startAppliance(cli, {
    env: { GATEWAY_UPSTREAM_FIRST_BYTE_TIMEOUT: '1s', GATEWAY_RESERVE_WAIT: '0s' },
  })
  await addProvider(gateway, 'acme', `${provider.url}/v1`)
  await addProvider(gateway, 'gone', 'http://127.0.0.1:1/v1')
  const prices = { in_usd: '1', out_usd: '2', per_image_usd: [{ usd: '0.04' }] }
  for (const name of [...Object.keys(FAILURES), 'drawing']) {
    await gateway.verb('models.add', { model: `acme/${name}`, ...prices })
  }
  await gateway.verb('models.add', { model: 'gone/m', ...prices })
  await gateway.verb('models.add', { model: 'acme/vectors', kind: 'embed', in_usd: '1' })
  await gateway.verb('models.add', { model: 'acme/unpriced' })
  return {
    cli,
    gateway,
    host: new URL(provider.url).host,
    async close() {
      await gateway.kill()
      await provider.stop()
      cli.close()
    },
  }
}

const addProvider = (gateway: Appliance, name: string, base_url: string) =>
  gateway.verb('providers.add', {
    name,
    type: 'openai-compatible',
    base_url,
    credential: CREDENTIAL,
  })

const openBare = (cli: CliHarness, gateway: Appliance): Scene => ({
  cli,
  gateway,
  host: 'there is none',
  async close() {
    await gateway.kill()
    cli.close()
  },
})

/** A gateway whose prices were damaged while it runs: an internal error in whatever reads the catalogue next. */
export async function openDamaged(): Promise<Scene> {
  const cli = furnishCli(openCli())
  const gateway = await startAppliance(cli)
  const database = openDatabase(cli)
  database.run(`UPDATE price_versions SET prices = '{"prompt":"-1"}'`)
  database.close(true)
  // The catalogue is read anew after each change; the change is made first, and then fails on the damage itself.
  await addProvider(gateway, 'other', 'http://127.0.0.1:1').catch(() => {})
  return openBare(cli, gateway)
}

/** A gateway that has been told to stop while an answer still runs. */
export async function openDraining(): Promise<Scene> {
  const cli = furnishCli(openCli())
  const gateway = await startAppliance(cli)
  const { key } = await gateway.verb('keys.create', { name: 'last' })
  const last = await gateway.chat(key, {
    model: 'demo/lorem',
    stream: true,
    user: 'rate-5',
    messages: [{ role: 'user', content: 'hi' }],
  })
  process.kill(gateway.pid, 'SIGTERM')
  await until(async () => (await readiness(gateway)).accepting_requests === false, 'it drains')
  const bare = openBare(cli, gateway)
  return {
    ...bare,
    async close() {
      // Referenced until here: an unreferenced answer may be garbage-collected, which closes its connection.
      await last.body?.cancel()
      await bare.close()
    },
  }
}

interface Readiness {
  readonly store_writable: boolean
  readonly accepting_requests: boolean
}

async function readiness({ url }: Appliance): Promise<Readiness> {
  const { checks } = (await (await fetch(`${url}/readyz`)).json()) as { checks: Readiness }
  return checks
}

const openDatabase = (cli: CliHarness): Database => new Database(join(cli.dataDir, 'gateway.db'))

/**
 * Takes the database's own write lock away from the gateway, as any stray tool could: no commit gets through. One request
 * has to run into it; it is answered once `release` has given the lock back.
 */
export async function jam({ cli, gateway }: Scene): Promise<{ release(): Promise<void> }> {
  const { key } = await gateway.verb('keys.create', { name: 'first' })
  const database = openDatabase(cli)
  database.run('BEGIN IMMEDIATE')
  const first = gateway.chat(key, {
    model: 'demo/echo',
    messages: [{ role: 'user', content: 'hi' }],
  })
  await until(async () => !(await readiness(gateway)).store_writable, 'no commit gets through')
  return {
    async release() {
      database.run('ROLLBACK')
      database.close(true)
      const { status } = await first
      if (status !== 200) throw new Error(`what was bought was lost: ${status}`)
      await until(async () => (await readiness(gateway)).store_writable, 'commits get through')
    },
  }
}

export const LARGE_BODY_BYTES = 31 * 1024 * 1024

/** Three keys announce a body each, and send none of it: there is no memory for a fourth. */
export async function overload({ gateway }: Scene): Promise<{ release(): Promise<void> }> {
  const clients = await Promise.all(
    ['one', 'two', 'three'].map(async (name) => {
      const { key } = await gateway.verb('keys.create', { name })
      return announce(gateway, key)
    }),
  )
  const { key } = await gateway.verb('keys.create', { name: 'four' })
  const isFull = async (): Promise<boolean> => {
    const client = announce(gateway, key)
    try {
      await until(() => client.received !== '', 'it is refused', 100)
      return true
    } finally {
      client.hangUp()
    }
  }
  await until(isFull, 'the memory is taken')
  return {
    async release() {
      for (const client of clients) client.hangUp()
      const isEmpty = async (): Promise<boolean> => !(await isFull().catch(() => false))
      await until(isEmpty, 'the memory is given back')
    },
  }
}

function announce({ url }: Appliance, key: string): RawClient {
  const client = dial(url)
  client.send(head('/v1/chat/completions', { Authorization: `Bearer ${key}` }, LARGE_BODY_BYTES))
  return client
}

/** Clients that send at the same time, each on a connection that is already open. */
const CONNECTIONS = 16

/** Denies the gateway every new file descriptor; open ones remain usable. */
export async function exhaust({ gateway }: Scene): Promise<{ release(): Promise<void> }> {
  const greet = async (): Promise<void> =>
    void (await (await fetch(`${gateway.url}/healthz`)).text())
  await Promise.all(Array.from({ length: CONNECTIONS }, greet))
  const before = descriptorLimit(gateway)
  // Lower than any free number: the lower ones have long been in use.
  descriptorLimit(gateway, '4:')
  return {
    async release() {
      descriptorLimit(gateway, `${before}:`)
    },
  }
}

/** The current limit; `change` is a limit in prlimit's syntax. */
function descriptorLimit({ pid }: Appliance, change?: string): string {
  const nofile =
    change === undefined ? ['--nofile', '--output=SOFT', '--noheadings'] : [`--nofile=${change}`]
  const { exitCode, stdout, stderr } = Bun.spawnSync(['prlimit', `--pid=${pid}`, ...nofile])
  if (exitCode !== 0) throw new Error(`prlimit: ${stderr}`)
  return stdout.toString().trim()
}
