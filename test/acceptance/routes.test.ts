/** Routes as an operator types them, with the server down and up: what is printed, and who answers from the next request on. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  type Appliance,
  furnishCli,
  readDatabase,
  type StartOptions,
  startAppliance,
} from '#test/support/appliance.ts'
import { openBlackHole } from '#test/support/black-hole.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { startRaw } from '#test/upstream/http1/raw-provider.ts'

/** A provider on a real socket that answers with its name, unless it is told to fail. */
function startProvider(name: string, afterMs = 0) {
  let status = 200
  let asked = 0
  const models: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      asked++
      models.push(((await request.json()) as { model: string }).model)
      if (afterMs > 0) await Bun.sleep(afterMs)
      if (status !== 200) {
        const headers = status === 429 ? { 'retry-after': '60' } : {}
        return Response.json({ error: { message: 'not now' } }, { status, headers })
      }
      return Response.json({
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [
          { index: 0, message: { role: 'assistant', content: name }, finish_reason: 'stop' },
        ],
        usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      })
    },
  })
  onTestFinished(() => server.stop(true))
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    /** What it was asked for, by the name it knows. */
    models,
    get asked() {
      return asked
    },
    turn(to: number) {
      status = to
    },
  }
}

function typed(cli: CliHarness, ...args: readonly string[]): string {
  const { code, out, err } = cli.run(args)
  if (code !== 0) throw new Error(`gatewayctl ${args.join(' ')} exited ${code}\n${err}`)
  return out
}

function addProvider(cli: CliHarness, name: string, url: string): void {
  typed(
    cli,
    'providers',
    'add',
    name,
    '--type',
    'openai-compatible',
    '--base-url',
    url,
    '--no-key',
    // Whoever plays the provider stands still while a command runs.
    '--no-check',
  )
}

const hello = { model: 'acme/m', messages: [{ role: 'user', content: 'hi' }] }

/** A desk with money, a key, and the model `acme/m` at `url`. */
function furnishRouted(url: string): { readonly cli: CliHarness; readonly key: string } {
  const cli = furnishCli(openCli())
  onTestFinished(() => cli.close())
  addProvider(cli, 'acme', url)
  typed(cli, 'models', 'add', 'acme/m', '--in-usd', '1', '--out-usd', '2')
  return { cli, key: typed(cli, 'keys', 'create', 'ci').trim() }
}

async function start(cli: CliHarness, options: StartOptions = {}): Promise<Appliance> {
  const gateway = await startAppliance(cli, options)
  onTestFinished(async () => void (await gateway.kill()))
  return gateway
}

describe('with the server down', () => {
  let cli: CliHarness
  beforeAll(() => {
    cli = openCli()
    typed(cli, 'init')
    addProvider(cli, 'acme', 'http://127.0.0.1:9/v1')
  })
  afterAll(() => cli.close())

  test('a route is shown, extended, changed, cut and reset', () => {
    expect(typed(cli, 'models', 'route', 'demo/echo')).toBe('1\t1\tdemo\techo\t\t\n')
    const added = cli.run(['models', 'route', 'demo/echo', '--via', 'acme', '--upstream', 'e2'])
    expect(added).toEqual({
      code: 0,
      out: '1\t1\tdemo\techo\t\t\n2\t1\tacme\te2\t\t\n',
      err: '✓ demo/echo is served by acme when position 1 fails, from the next request\n',
    })
    const shared = typed(
      cli,
      ...['models', 'route', 'demo/echo', '--via', 'acme', '--order', '1', '--weight', '3'],
    )
    expect(shared).toBe('1\t3\tacme\te2\t\t\n1\t1\tdemo\techo\t\t\n')
    expect(typed(cli, 'models', 'route', 'demo/echo', '-q')).toBe('acme\ndemo\n')
    expect(cli.json(['models', 'route', 'demo/echo', '--drop', 'demo'])).toEqual({
      model: 'demo/echo',
      routed_by: 'demo/echo',
      order: 'weight',
      models: 1,
      hops: [
        {
          position: 1,
          weight: 3,
          provider: 'acme',
          upstream: 'e2',
          health: null,
          first_content_ms: null,
        },
      ],
    })
    expect(typed(cli, 'models', 'show', 'demo/echo')).toContain('served by\tacme\n')
    const reset = cli.run(['models', 'route', 'demo/echo', '--reset'])
    expect(reset).toEqual({
      code: 0,
      out: '1\t1\tdemo\techo\t\t\n',
      err: '✓ demo/echo is served by demo alone\n',
    })
  })

  test.each<[string[], number, string]>([
    [
      ['demo/echo', '--drop', 'demo'],
      2,
      'error: demo is the last hop of demo/echo: nobody would serve it\nhint: gatewayctl models route demo/echo --via PROVIDER, then drop demo\n',
    ],
    [
      ['demo/echo', '--drop', 'acme'],
      3,
      'error: acme is no hop of demo/echo\nhint: gatewayctl models route demo/echo\n',
    ],
    [
      ['demo/echo', '--via', 'acmee'],
      3,
      'error: no provider is called "acmee"\n  did you mean acme?\nhint: gatewayctl providers list\n',
    ],
    [
      ['demo/ecko'],
      3,
      'error: no model is called "demo/ecko"\n  did you mean demo/echo?\nhint: gatewayctl models list\n',
    ],
    [
      ['demo/echo', '--weight', '3'],
      2,
      'error: --upstream, --order and --weight need --via, the provider they apply to\nhint: gatewayctl models route demo/echo --via PROVIDER\n',
    ],
    [
      ['demo/echo', '--via', 'acme', '--reset'],
      2,
      'error: --via, --drop and --reset cannot be combined\n',
    ],
    [
      ['demo/echo', '--via', 'acme', '--order', '0'],
      2,
      'error: --order must be a whole number of at least 1 (got "0")\n',
    ],
    [
      ['demo/echo', '--via', 'acme', '--weight', '1001'],
      2,
      'error: --weight must be a whole number from 1 to 1000\n',
    ],
  ])('%j ends with %i and says why', (args, code, err) => {
    expect(cli.run(['models', 'route', ...args])).toEqual({ code, out: '', err })
  })
})

describe('with the server up', () => {
  test('a change holds from the next request, and each answer is charged once', async () => {
    const acme = startProvider('from acme')
    const beta = startProvider('from beta')
    const { cli, key } = furnishRouted(acme.url)
    const gateway = await start(cli)
    addProvider(cli, 'beta', beta.url)
    const ask = async () => {
      const response = await gateway.chat(key, { ...hello, max_tokens: 5 })
      const body = (await response.json()) as {
        provider?: string
        choices?: { message: { content: string } }[]
      }
      return [response.status, body.provider, body.choices?.[0]?.message.content]
    }
    expect(await ask()).toEqual([200, 'acme', 'from acme'])
    acme.turn(503)
    expect((await ask())[0]).toBe(502)

    typed(cli, 'models', 'route', 'acme/m', '--via', 'beta', '--upstream', 'm-at-beta')
    expect(await ask()).toEqual([200, 'beta', 'from beta'])
    expect(beta.models).toEqual(['m-at-beta'])
    acme.turn(200)
    typed(cli, 'models', 'route', 'acme/m', '--drop', 'acme')
    const before = acme.asked
    expect(await ask()).toEqual([200, 'beta', 'from beta'])
    expect(acme.asked).toBe(before)
    typed(cli, 'models', 'route', 'acme/m', '--reset')
    expect(await ask()).toEqual([200, 'acme', 'from acme'])

    // Four answers at 10 × $1 and 5 × $2 a million, whoever gave them.
    const charges = cli.json<{ amount_usd: string }[]>(['ledger', '--kind', 'charge'])
    expect(charges.map(({ amount_usd }) => amount_usd)).toEqual(Array(4).fill('-0.00002'))
  })

  test('by latency the fastest is asked first, and a reserve behind it only when that fails', async () => {
    const slow = startProvider('slow', 60)
    const [quick, spare] = [startProvider('quick'), startProvider('spare')]
    const { cli, key } = furnishRouted(slow.url)
    addProvider(cli, 'quick', quick.url)
    addProvider(cli, 'spare', spare.url)
    typed(cli, 'models', 'route', 'acme/m', '--via', 'quick')
    expect(typed(cli, 'models', 'route', 'acme/m', '--order', 'latency')).toBe(
      '1\t1\tacme\tm\t\t\t\n1\t1\tquick\tm\t\t\t\n',
    )
    typed(cli, 'models', 'route', 'acme/m', '--via', 'spare', '--order', '2')
    const gateway = await start(cli)
    const ask = async () => expect((await gateway.chat(key, hello)).status).toBe(200)
    while (slow.asked === 0 || quick.asked === 0) await ask()
    const before = slow.asked
    for (let n = 0; n < 40; n++) await ask()
    // One of twenty explores the slow one; a dozen of forty are hardly ever that.
    expect(slow.asked - before).toBeLessThan(12)
    expect(spare.asked).toBe(0)
    expect(typed(cli, 'models', 'route', 'acme/m')).toMatch(
      /^1\t1\tacme\tm\tserving\t0\t([6-9]\d|\d{3}) ms\n1\t1\tquick\tm\tserving\t0\t\d+ ms\n2\t1\tspare\tm\tserving\t0\t\n$/,
    )
    slow.turn(503)
    quick.turn(503)
    await ask()
    expect(spare.asked).toBe(1)
  })

  test('a mask routes every model that it matches, and the commands say whose route a model has', async () => {
    const acme = startProvider('from acme')
    const beta = startProvider('from beta')
    acme.turn(503)
    const { cli, key } = furnishRouted(acme.url)
    addProvider(cli, 'beta', beta.url)
    const gateway = await start(cli)
    const shown = typed(cli, 'models', 'route', 'acme/*', '--via', 'beta', '--upstream', 'acme/*')
    expect(shown).toBe('1\t1\t*\t*\tserving\t0\n2\t1\tbeta\tacme/*\tserving\t0\n')
    typed(cli, 'models', 'add', 'acme/late', '--in-usd', '1', '--out-usd', '2')
    for (const model of ['acme/m', 'acme/late']) {
      const response = await gateway.chat(key, { ...hello, model })
      expect([response.status, response.headers.get('x-gateway-provider')]).toEqual([200, 'beta'])
    }
    expect(beta.models).toEqual(['acme/m', 'acme/late'])
    expect(typed(cli, 'models', 'route', 'list')).toBe('acme/*\t2\tweight\t*; beta\n')
    expect(typed(cli, 'models', 'show', 'acme/m')).toContain('route of\tacme/*\n')
    const [last = ''] = typed(cli, 'activity', '-q', '--limit', '1').split('\n')
    expect(typed(cli, 'why', last)).toContain('route of\tacme/*\n')

    typed(cli, 'models', 'route', 'acme/m', '--drop', 'beta')
    expect((await gateway.chat(key, hello)).status).toBe(502)
    expect((await gateway.chat(key, { ...hello, model: 'acme/late' })).status).toBe(200)
    const path = join(cli.home, 'gateway.toml')
    typed(cli, 'export', '--out', path)
    expect(cli.run(['models', 'route', 'acme/m', '--reset']).err).toBe(
      '✓ acme/m is served by acme, beta (the route of acme/*)\n',
    )
    typed(cli, 'models', 'route', 'acme/*', '--reset')
    expect(typed(cli, 'models', 'route')).toBe('')
    typed(cli, 'apply', '--file', path, '--yes')
    expect(typed(cli, 'models', 'route', 'list')).toBe(
      'acme/*\t1\tweight\t*; beta\nacme/m\t1\tweight\tacme\n',
    )
  })

  test('several keys of one account share its requests, and one that is refused rests alone', async () => {
    const refused = new Set<string>()
    const revoked = new Set<string>()
    const seen: string[] = []
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch(request) {
        const used = request.headers.get('authorization') ?? ''
        seen.push(used)
        if (revoked.has(used)) return Response.json({ error: { message: 'no' } }, { status: 401 })
        const status = refused.has(used) ? 429 : 200
        if (status === 429) {
          return Response.json(
            { error: { message: `quota of ${used}` } },
            { status, headers: { 'retry-after': '60' } },
          )
        }
        return Response.json({
          choices: [
            { index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' },
          ],
          usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
        })
      },
    })
    onTestFinished(() => server.stop(true))
    const cli = furnishCli(openCli())
    onTestFinished(() => cli.close())
    const added = ['add', 'acme', '--base-url', `http://127.0.0.1:${server.port}/v1`, '--no-check']
    const env = { FIRST: 'sk-first-secret', SECOND: 'sk-second-secret' }
    expect(cli.run(['providers', ...added, '--from-env', 'FIRST'], { env }).code).toBe(0)
    typed(cli, 'models', 'add', 'acme/m', '--in-usd', '1', '--out-usd', '2')
    const key = typed(cli, 'keys', 'create', 'ci').trim()
    const gateway = await start(cli)
    const ask = async () => expect((await gateway.chat(key, hello)).status).toBe(200)
    const credentials = (...args: string[]) =>
      cli.run(['providers', 'credentials', ...args], { env })
    expect(credentials('add', 'acme', 'eu', '--from-env', 'SECOND', '--weight', '3')).toEqual({
      code: 0,
      out: 'default\t1\tserving\t0\neu\t3\tserving\t0\n',
      err: '✓ added credential eu of acme, from the next request\n',
    })
    while (new Set(seen).size < 2) await ask()
    expect(new Set(seen)).toEqual(new Set(['Bearer sk-first-secret', 'Bearer sk-second-secret']))

    refused.add('Bearer sk-second-secret')
    seen.length = 0
    for (let n = 0; n < 20; n++) await ask()
    expect(seen.filter((used) => refused.has(used)).length).toBe(1)
    expect(credentials('list', 'acme').out).toMatch(
      /^default\t1\tserving\t0\neu\t3\tresting 20\S+Z\t1\n$/,
    )
    const [id = ''] = cli
      .json<{ id: string; failed_attempts: number }[]>(['activity', '--limit', '100'])
      .filter(({ failed_attempts }) => failed_attempts > 0)
      .map((one) => one.id)
    expect(typed(cli, 'why', id)).toContain(
      'attempt 1: acme, by its credential eu, asked for acme/m',
    )

    const served = 'attempt 2: acme, by its credential default, asked for acme/m, answered'
    expect(typed(cli, 'why', id)).toContain(served)
    expect(typed(cli, 'activity', 'show', id)).toMatch(
      /attempt 2\tacme\/m at acme by its credential default: answered, /,
    )
    expect(cli.json<object[]>(['activity', '--limit', '1'])).toMatchObject([
      { provider: 'acme', credential: 'default' },
    ])
    // Requests go on, so that nothing else tells of it.
    expect(typed(cli, 'status')).toMatch(/acme ● [\d.]+%.* · eu resting \d+/)
    expect(typed(cli, 'providers', 'show', 'acme')).toMatch(/failing key\teu: resting \d+[ms]\n/)
    expect(cli.run(['doctor']).out).toContain('credential eu of acme rests: status 429')

    const path = join(cli.home, 'gateway.toml')
    typed(cli, 'export', '--out', path)
    const file = readFileSync(path, 'utf8')
    expect(file).toContain('ACME_EU_API_KEY')
    expect(file + gateway.said()).not.toMatch(/sk-\w+-secret/)
    expect(credentials('remove', 'acme', 'eu', '--yes').out).toBe('default\t1\tserving\t0\n')
    for (const [args, code, err] of [
      [
        ['remove', 'acme', 'default', '--yes'],
        2,
        'error: default is the last credential of acme: nothing would be accepted\nhint: gatewayctl providers edit acme --no-key\n',
      ],
      [
        ['remove', 'acme', 'defualt', '--yes'],
        2,
        'error: acme has no credential "defualt"\n  did you mean default?\nhint: gatewayctl providers credentials list acme\n',
      ],
      [
        ['add', 'acme', 'Eu', '--from-env', 'SECOND'],
        2,
        'error: the name must be lower-case letters, digits, ".", "_" or "-"\n',
      ],
    ] as const) {
      expect(credentials(...args)).toEqual({ code, out: '', err })
    }
    const variables = {
      ACME_DEFAULT_API_KEY: 'sk-first-secret',
      ACME_EU_API_KEY: 'sk-other-secret',
    }
    const apply = ['apply', '--file', path, '--yes']
    expect(cli.run(apply, { env: variables }).code).toBe(0)
    expect(credentials('list', 'acme').out).toMatch(/^default\t1\tserving\t0\neu\t3\t/)
    while (!seen.includes('Bearer sk-other-secret')) await ask()

    // One that is refused is told as such, and where none is left the provider rests.
    revoked.add('Bearer sk-other-secret')
    while (!typed(cli, 'status').includes('eu refused (401), resting')) {
      await gateway.chat(key, hello)
    }
    expect(cli.run(['doctor']).out).toContain('credential eu of acme is refused: status 401')
    expect(typed(cli, 'providers', 'show', 'acme')).toMatch(
      /failing key\teu: refused \(401\), resting \d+[ms]\n/,
    )
    revoked.add('Bearer sk-first-secret')
    expect((await gateway.chat(key, hello)).status).toBe(502)
    expect(typed(cli, 'status')).toMatch(/acme ◐ .*· default refused \(401\), .*· eu refused/)
    for (const said of [typed(cli, 'status'), cli.run(['doctor']).out, gateway.said()]) {
      expect(said).not.toMatch(/sk-\w+-secret/)
    }
  })

  test('a provider that asks to be left alone rests, and the commands say so', async () => {
    const acme = startProvider('acme')
    const beta = startProvider('beta')
    acme.turn(429)
    const { cli, key } = furnishRouted(acme.url)
    addProvider(cli, 'beta', beta.url)
    typed(cli, 'models', 'route', 'acme/m', '--via', 'beta')
    const gateway = await start(cli)
    expect(typed(cli, 'models', 'route', 'acme/m')).toBe(
      '1\t1\tacme\tm\tserving\t0\n2\t1\tbeta\tm\tserving\t0\n',
    )
    for (let i = 0; i < 5; i++) expect((await gateway.chat(key, hello)).status).toBe(200)
    expect([acme.asked, beta.asked]).toEqual([1, 5])

    expect(typed(cli, 'models', 'route', 'acme/m')).toMatch(
      /^1\t1\tacme\tm\tresting 20\S+Z\t1\n2\t1\tbeta\tm\tserving\t0\n$/,
    )
    expect(typed(cli, 'status')).toMatch(
      /providers {2}acme ◐ 0% resting (1m|[3-5]\ds) \(1 failure\) {3}beta ● 100% {3}demo ●\n/,
    )
    const { providers } = cli.json<{ providers: object[] }>(['status'])
    const rests = {
      state: 'resting',
      failures_in_a_row: 1,
      rests_until: expect.stringMatching(/Z$/),
    }
    expect(providers[0]).toMatchObject({
      name: 'acme',
      health: { ...rests, hops: [{ upstream: 'm', ...rests }] },
    })
    expect(cli.run(['status', '-q']).code).toBe(0)
    await gateway.stop()
    expect(cli.run(['status']).out).toMatch(/providers {2}acme {3}beta {3}demo\n/)
  })
})

/** A configuration file of the desk's own. */
function configure(cli: CliHarness, toml: string): readonly string[] {
  const path = join(cli.home, 'gateway.toml')
  writeFileSync(path, toml)
  return ['--config', path]
}

describe('an address that swallows what is sent to it', () => {
  const timed = async (asking: Promise<Response>) => {
    const startedMs = performance.now()
    const response = await asking
    return {
      status: response.status,
      body: await response.json(),
      ms: performance.now() - startedMs,
    }
  }
  const reasons = (cli: CliHarness) =>
    readDatabase<{ failed_attempts: string }>(
      cli,
      'SELECT failed_attempts FROM activity ORDER BY started_at',
    ).map(({ failed_attempts }) =>
      (JSON.parse(failed_attempts) as { reason: string }[]).map(({ reason }) => reason),
    )

  test('is 504 in the time that the configuration says, and the next hop is asked', async () => {
    const hole = await openBlackHole()
    onTestFinished(() => hole.close())
    const { cli, key } = furnishRouted(`${hole.url}/v1`)
    const gateway = await start(cli, {
      flags: configure(cli, '[upstream]\nconnect_timeout = "1s"\n'),
    })
    const alone = await timed(gateway.chat(key, hello))
    expect(alone).toMatchObject({ status: 504, body: { error: { code: 'upstream_timeout' } } })
    expect(alone.ms).toBeGreaterThanOrEqual(1_000)
    expect(alone.ms).toBeLessThan(3_000)

    const beta = startProvider('from beta')
    addProvider(cli, 'beta', beta.url)
    typed(cli, 'models', 'route', 'acme/m', '--via', 'beta')
    const together = await timed(gateway.chat(key, hello))
    expect(together).toMatchObject({ status: 200, body: { provider: 'beta' } })
    expect(together.ms).toBeLessThan(3_000)
    expect(reasons(cli)).toEqual([
      ['it could not be reached in time'],
      ['it could not be reached in time'],
    ])
  })

  test.each([
    [
      'behind a proxy that drops the SYN',
      async () => {
        const hole = await openBlackHole()
        onTestFinished(() => hole.close())
        return { base: 'http://provider.example/v1', env: { HTTP_PROXY: hole.url } }
      },
    ],
    [
      'behind a proxy that never answers the CONNECT',
      async () => {
        const { url } = await startRaw(() => {})
        return { base: 'https://provider.example/v1', env: { HTTPS_PROXY: url.origin } }
      },
    ],
  ])('is 504 in that time %s', async (_, open) => {
    const { base, env } = await open()
    const { cli, key } = furnishRouted(base)
    const gateway = await start(cli, { env: { ...env, GATEWAY_UPSTREAM_CONNECT_TIMEOUT: '1s' } })
    const asked = await timed(gateway.chat(key, hello))
    expect(asked).toMatchObject({ status: 504, body: { error: { code: 'upstream_timeout' } } })
    expect(asked.ms).toBeGreaterThanOrEqual(1_000)
    expect(asked.ms).toBeLessThan(3_000)
    expect(reasons(cli)).toEqual([['it could not be reached in time']])
  })
})

test('a configuration that cannot be meant keeps the server from starting', () => {
  const cli = furnishCli(openCli())
  onTestFinished(() => cli.close())
  const flags = configure(cli, '[upstream]\nconect_timeout = "1s"\n')
  const { code, out, err } = cli.run(['serve', '--listen', '127.0.0.1:0', ...flags])
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain(
    'there is no setting "upstream.conect_timeout"\n  did you mean upstream.connect_timeout?\nhint: known: listen',
  )
})
