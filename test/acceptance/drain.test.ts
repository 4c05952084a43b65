/** Stopping and starting: an orderly end keeps every promise, a directory has one server, and commands work either way. */
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import {
  type Appliance,
  activityOf,
  furnishCli,
  nanos,
  openHolds,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { dial, post } from '#test/support/raw-client.ts'
import { readSse } from '#test/support/read-sse.ts'
import { oks, startSyntheticUpstream } from '#test/support/synthetic-upstream.ts'

const WORDS = 20
const slow = {
  kind: 'chat',
  promptTokens: 100,
  completionTokens: WORDS,
  chunks: oks(WORDS),
  gapMs: 40,
} as const
const upstream = await startSyntheticUpstream({
  slow,
  endless: { ...slow, completionTokens: 500, chunks: oks(500) },
})
afterAll(() => upstream.stop())

let cli: CliHarness
let gateways: Appliance[] = []

beforeEach(() => {
  cli = openCli()
})
afterEach(async () => {
  await Promise.all(gateways.map((gateway) => gateway.kill()))
  gateways = []
  cli.close()
})

async function start(flags: readonly string[] = []): Promise<Appliance> {
  const gateway = await startAppliance(cli, { flags })
  gateways.push(gateway)
  return gateway
}

const hello = { model: 'slow/m', messages: [{ role: 'user', content: 'hi' }] }

/** A gateway whose one model takes 20 words × 40 ms to answer, and a key for it. */
async function startSlow(
  flags: readonly string[] = [],
): Promise<{ gateway: Appliance; key: string }> {
  furnishCli(cli)
  const gateway = await start(flags)
  await gateway.verb('providers.add', {
    name: 'slow',
    type: 'openai-compatible',
    base_url: upstream.baseUrls.slow,
    credential: null,
  })
  await gateway.verb('models.add', { model: 'slow/m', in_usd: '1', out_usd: '2' })
  return { gateway, key: (await gateway.verb('keys.create', { name: 'k' })).key }
}

/** A model whose answers outlast every test. */
async function addEndless(gateway: Appliance, address = upstream.baseUrls.endless): Promise<void> {
  await gateway.verb('providers.add', {
    name: 'endless',
    type: 'openai-compatible',
    base_url: address,
    credential: null,
  })
  // Its words cost nothing, so that it never passes what is held.
  await gateway.verb('models.add', { model: 'endless/m', in_usd: '1', out_usd: '0' })
}

describe('SIGTERM while an answer runs', () => {
  test('turns new requests away, lets the answer end whole, and exits with 0', async () => {
    const { gateway, key } = await startSlow()
    const running = await gateway.chat(key, { ...hello, stream: true })
    process.kill(gateway.pid, 'SIGTERM')
    await until(async () => (await fetch(`${gateway.url}/readyz`)).status === 503, 'it drains')

    const ready = await fetch(`${gateway.url}/readyz`)
    expect(await ready.json()).toEqual({
      status: 'unavailable',
      checks: { store_writable: true, schema_current: true, accepting_requests: false },
    })
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200)
    for (const stream of [false, true]) {
      const refused = await gateway.chat(key, { ...hello, stream })
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
      expect(refused.headers.get('x-should-retry')).toBe('true')
      expect(await refused.json()).toMatchObject({
        error: { type: 'api_error', code: 'shutting_down' },
      })
    }
    // An operator can still look while it drains.
    expect(await gateway.verb('status', {})).toMatchObject({ running: true, in_flight: 1 })

    const { done, text, chunks } = readSse(await running.text())
    expect([done, text.match(/ok/g)?.length]).toEqual([true, WORDS])
    expect(chunks.at(-1)?.usage).toMatchObject({ cost: 0.00014 })
    expect(await gateway.exited).toBe(0)
    await expect(fetch(`${gateway.url}/healthz`)).rejects.toThrow()

    expect(openHolds(cli)).toBe(0)
    const ledger = cli.json<readonly object[]>(['ledger', '--kind', 'charge'])
    expect(ledger).toMatchObject([{ amount_usd: '-0.00014' }])
    expect(cli.run(['doctor', '-q']).code).toBe(0)
  })

  test('is what status says of it', async () => {
    const { gateway, key } = await startSlow()
    await addEndless(gateway)
    // Kept: one that nobody holds may be collected, and its connection closed.
    const running = await gateway.chat(key, { ...hello, model: 'endless/m', stream: true })
    process.kill(gateway.pid, 'SIGTERM')
    await until(async () => (await fetch(`${gateway.url}/readyz`)).status === 503, 'it drains')
    const { code, out } = await cli.runBeside(['status'])
    expect([code, out.split('\n')[0]]).toEqual([
      0,
      expect.stringMatching(/^gateway {4}◐ draining http/),
    ])
    expect(await gateway.verb('status', {})).toMatchObject({ draining: true })
    await running.body?.cancel()
  })

  test('cuts what is left when its time is up, tells the reader why, and charges what came', async () => {
    const { gateway, key } = await startSlow(['--drain', '1s'])
    await addEndless(gateway)
    const running = await gateway.chat(key, { ...hello, model: 'endless/m', stream: true })
    const startedMs = performance.now()
    expect(await gateway.stop()).toBe(0)
    expect(performance.now() - startedMs).toBeGreaterThan(900)

    const { done, chunks, text } = readSse(await running.text())
    expect(done).toBe(true)
    expect(chunks.at(-2)).toMatchObject({
      error: { code: 'shutting_down' },
      choices: [{ finish_reason: 'error' }],
    })
    const usage = chunks.at(-1)?.usage
    expect(usage).toMatchObject({
      completion_tokens: Math.ceil(text.length / 4),
      cost_details: { source: 'estimated' },
    })
    const row = activityOf(cli, running.headers.get('x-generation-id') ?? '')
    expect(row).toMatchObject({ ended_by: 'gateway', code: 'shutting_down' })
    expect(row?.cost_nanos).toBe(Math.round(Number(usage?.['cost']) * 1e9))
    expect(row?.cost_nanos).toBeGreaterThan(0)
    expect(openHolds(cli)).toBe(0)
  })

  test.each(['SIGTERM', 'SIGHUP'] as const)(
    'a second one, after %s, waits no longer: what came is told and charged',
    async (first) => {
      const { gateway, key } = await startSlow()
      await addEndless(gateway)
      const running = await gateway.chat(key, { ...hello, model: 'endless/m', stream: true })
      process.kill(gateway.pid, first)
      await until(async () => (await fetch(`${gateway.url}/readyz`)).status === 503, 'it drains')
      process.kill(gateway.pid, 'SIGTERM')
      expect(await gateway.exited).toBe(0)
      const { done, chunks } = readSse(await running.text())
      expect(done).toBe(true)
      expect(chunks.at(-2)).toMatchObject({ error: { code: 'shutting_down' } })
      const row = activityOf(cli, running.headers.get('x-generation-id') ?? '')
      expect(row).toMatchObject({ ended_by: 'gateway', code: 'shutting_down' })
      expect(row?.cost_nanos).toBeGreaterThan(0)
      expect(openHolds(cli)).toBe(0)
    },
  )

  test('a third one ends it at once, and the next start resolves what was open', async () => {
    const { gateway, key } = await startSlow()
    let pulled = 0
    const chunk = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(65_536) } }] })}\n\n`
    const body = () =>
      new ReadableStream({
        pull(controller) {
          pulled++
          controller.enqueue(new TextEncoder().encode(chunk))
        },
      })
    const flood = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => new Response(body(), { headers: { 'content-type': 'text/event-stream' } }),
    })
    await addEndless(gateway, flood.url.origin)
    // Nobody reads it: the farewell of the second signal waits a second for that.
    const client = dial(gateway.url)
    client.socket.pause()
    const asked = { ...hello, model: 'endless/m', stream: true }
    client.send(post('/v1/chat/completions', { Authorization: `Bearer ${key}` }, asked))
    let before = -1
    await until(async () => {
      const isStalled = pulled > 0 && pulled === before
      before = pulled
      await Bun.sleep(50)
      return isStalled
    }, 'the stream is stalled')
    process.kill(gateway.pid, 'SIGTERM')
    await until(async () => (await fetch(`${gateway.url}/readyz`)).status === 503, 'it drains')
    for (let again = 0; again < 2; again++) {
      process.kill(gateway.pid, 'SIGTERM')
      await Bun.sleep(20)
    }
    await gateway.exited
    client.hangUp()
    await flood.stop(true)
    await start()
    expect(openHolds(cli)).toBe(0)
    expect(cli.run(['doctor', '-q']).code).toBe(0)
  })
})

describe('one server per data directory', () => {
  test('a second is refused with what is wrong, and the first goes on', async () => {
    furnishCli(cli)
    const gateway = await start()
    const second = cli.run(['serve', '--listen', '127.0.0.1:0'])
    expect(second.code).toBe(1)
    expect(second.out).toBe('')
    expect(second.err).toMatch(
      new RegExp(`^error: another gatewayctl process has ${cli.dataDir} open\nhint: .+\n$`),
    )
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200)
    expect(cli.run(['status', '-q']).code).toBe(0)
  })

  test('a killed one leaves the directory free, for commands and for the next', async () => {
    furnishCli(cli)
    const gateway = await start()
    await gateway.kill()
    expect(cli.json<readonly object[]>(['keys', 'list'])).toHaveLength(1)
    expect(cli.run(['status', '-q']).code).toBe(4)
    const next = await start()
    expect(cli.json(['status'])).toMatchObject({ running: true, pid: next.pid })
  })
})

describe('commands', () => {
  const LISTS = [
    ['keys', 'list'],
    ['keys', 'list', '--json'],
    ['keys', 'list', '-q'],
    ['keys', 'show', 'ci', '--json'],
    ['limits', 'show', 'ci'],
    ['models', 'list'],
    ['models', 'show', 'demo/echo', '--json'],
    ['providers', 'list', '--json'],
    ['balance', '--json'],
    ['ledger', 'list'],
    ['rates', 'show', '--json'],
  ]

  /** A window's seconds, and what a runway is reckoned by, run on between two commands. */
  const timeless = (run: { readonly out: string } | undefined) =>
    run?.out.replace(/"(reset_seconds|seconds|mean_day_usd)": "?[\d.]+"?/g, '"$1": …')

  test('print the same with the server up and down', async () => {
    furnishCli(cli)
    const made = cli.run(['keys', 'create', 'ci', '--rpm', '7', '--allow', 'demo/*'])
    const gateway = await start()
    const answer = await gateway.chat(made.out.trim(), {
      model: 'demo/echo',
      messages: [{ role: 'user', content: 'one two three' }],
    })
    expect(answer.status).toBe(200)
    const up = LISTS.map((args) => cli.run(args))
    expect(await gateway.stop()).toBe(0)
    const down = LISTS.map((args) => cli.run(args))
    for (const [place, args] of LISTS.entries()) {
      expect({ args, ...down[place], out: timeless(down[place]) }).toEqual({
        args,
        ...up[place],
        out: timeless(up[place]),
      })
      expect({ args, code: up[place]?.code, err: up[place]?.err }).toEqual({
        args,
        code: 0,
        err: '',
      })
      expect(up[place]?.out.length).toBeGreaterThan(0)
    }
  })

  test('a new key is printed with the address of the running gateway', async () => {
    furnishCli(cli)
    const gateway = await start()
    expect(cli.run(['keys', 'create', 'near', '--env']).out).toContain(
      `export OPENAI_BASE_URL=${gateway.url}/v1\n`,
    )
    expect(cli.run(['keys', 'create', 'next']).err).toContain(
      `next: export OPENAI_BASE_URL=${gateway.url}/v1 `,
    )
    expect(await gateway.stop()).toBe(0)
  })

  test('change the same things with the server up and down', async () => {
    furnishCli(cli, '1')
    const act = (name: string) => {
      expect(cli.run(['keys', 'create', name, '--rpm', '5']).out).toMatch(/^if-\w{49}\n$/)
      expect(cli.run(['limits', 'set', name, '--rpm', '9']).out).toBe(`${name}: rpm 5 → 9\n`)
      expect(cli.run(['keys', 'revoke', name, '--yes']).code).toBe(0)
      expect(cli.run(['keys', 'revoke', 'nobody', '--yes'])).toMatchObject({
        code: 3,
        out: '',
        err: expect.stringMatching(/^error: no key is called "nobody"\n/),
      })
      expect(cli.run(['balance', 'top-up', '0.5']).code).toBe(0)
    }
    act('down')
    const gateway = await start()
    act('up')
    expect(cli.json(['balance'])).toMatchObject({ balance_usd: '2.00' })
    const revoked = cli.json<readonly { name: string; status: string }[]>([
      'keys',
      '--include-revoked',
    ])
    expect(
      revoked
        .filter(({ status }) => status === 'revoked')
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['down', 'up'])
    expect(await gateway.stop()).toBe(0)
  })

  test('at once are one after the other: no top-up is lost, and a repeated one is applied once', async () => {
    furnishCli(cli, '1')
    const gateway = await start()
    const spawn = (...args: string[]) =>
      Bun.spawn([BINARY, 'balance', 'top-up', ...args], {
        cwd: cli.home,
        env: cli.env,
        stdout: 'ignore',
        stderr: 'ignore',
      }).exited
    const codes = await Promise.all([
      ...Array.from({ length: 10 }, () => spawn('0.01')),
      ...Array.from({ length: 6 }, () => spawn('5', '--ref', 'INVOICE-7')),
    ])
    expect(codes.slice(0, 10)).toEqual(Array(10).fill(0))
    expect(codes.slice(10)).toEqual(Array(6).fill(0))
    const repeated = await Promise.all(
      Array.from({ length: 20 }, () =>
        gateway.verb('balance.top-up', { amount_usd: '2', ref: 'INVOICE-8' }),
      ),
    )
    expect(repeated.filter(({ applied }) => applied)).toHaveLength(1)
    const { balance_usd: balance } = cli.json<{ balance_usd: string }>(['balance'])
    expect(nanos(balance)).toBe(nanos('8.1'))
    expect(await gateway.stop()).toBe(0)
  })
})
