// A model by its other names: what an operator types, what a client is answered, and what the books say; and the sessions of one.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'

function typed(cli: CliHarness, ...args: readonly string[]): string {
  const { code, out, err } = cli.run(args)
  if (code !== 0) throw new Error(`gatewayctl ${args.join(' ')} exited ${code}\n${err}`)
  return out
}

const hello = (model: string, more: object = {}) => ({
  model,
  messages: [{ role: 'user', content: 'hi' }],
  max_tokens: 5,
  ...more,
})

describe('with the server down', () => {
  const cli = furnishCli(openCli())
  afterAll(() => cli.close())

  test('an alias is given, listed, moved and taken', () => {
    expect(cli.run(['models', 'alias', 'claude-opus-4-8', 'demo/echo'])).toEqual({
      code: 0,
      out: '',
      err: '✓ claude-opus-4-8 is demo/echo, from the next request\n',
    })
    typed(cli, 'models', 'alias', 'claude-opus-4-8', 'demo/lorem')
    expect(cli.json(['models', 'alias', 'parrot', 'demo/echo'])).toEqual({
      name: 'parrot',
      model: 'demo/echo',
    })
    expect(typed(cli, 'models', 'alias')).toBe('claude-opus-4-8\tdemo/lorem\nparrot\tdemo/echo\n')
    expect(typed(cli, 'models', 'alias', '-q')).toBe('claude-opus-4-8\nparrot\n')
    expect(typed(cli, 'models', 'show', 'demo/lorem')).toContain('aliases\tclaude-opus-4-8\n')
    const [echo] = cli.json<{ aliases: string[] }[]>(['models', 'list', 'demo/echo'])
    expect(echo?.aliases).toEqual(['parrot'])
    expect(typed(cli, '__complete', '--', 'models', 'unalias', 'p')).toContain('parrot')

    expect(cli.json(['models', 'unalias', 'parrot'])).toEqual({
      name: 'parrot',
      model: 'demo/echo',
      removed: true,
    })
    const acts = cli.json<{ verb: string; target: string; changed: object }[]>([
      'activity',
      'list',
      '--admin',
    ])
    expect(acts.map(({ verb, changed }) => [verb, changed])).toEqual(
      expect.arrayContaining([
        ['models.alias.set', { model: { from: 'demo/echo', to: 'demo/lorem' } }],
        ['models.alias.remove', { model: { from: 'demo/echo', to: null } }],
      ]),
    )
  })

  test.each<[string[], number, string]>([
    [['alias', 'x', 'demo/ecko'], 3, 'no model is called "demo/ecko"\n  did you mean demo/echo?'],
    [['alias', 'demo/lorem', 'demo/echo'], 1, 'demo/lorem is the id of a model'],
    [
      ['alias', 'x y', 'demo/echo'],
      2,
      'the name must be 1 to 256 characters without a space, "*" or a control character',
    ],
    [['alias', 'x'], 2, 'an alias needs its model\nhint: gatewayctl models alias x MODEL'],
    [['unalias', 'x'], 3, 'no model is also called "x"\nhint: gatewayctl models alias'],
    [['add', 'claude-opus-4-8'], 2, 'must look like provider/model'],
  ])('models %j ends with %i and says why', (args, code, err) => {
    const ended = cli.run(['models', ...args])
    expect(ended).toMatchObject({ code, out: '' })
    expect(ended.err).toContain(err)
  })

  test('a file states them, and what is exported is what there is', () => {
    const path = join(cli.home, 'gateway.toml')
    const apply = (text: string, ...flags: string[]) => {
      writeFileSync(path, text)
      return typed(cli, 'apply', '-f', path, '-y', ...flags)
    }
    const entry = (name: string, model: string) =>
      `[[aliases]]\nname = "${name}"\nmodel = "${model}"\n`
    apply(entry('claude-opus-4-8', 'demo/echo') + entry('old/name', 'demo/lorem'), '--prune')
    expect(typed(cli, 'models', 'alias')).toBe('claude-opus-4-8\tdemo/echo\nold/name\tdemo/lorem\n')
    const exported = typed(cli, 'export')
    expect(exported).toContain('aliases')
    expect(cli.run(['apply', '-f', path, '--dry-run']).code).toBe(0)
    apply(exported, '--prune')
    expect(typed(cli, 'models', 'alias')).toBe('claude-opus-4-8\tdemo/echo\nold/name\tdemo/lorem\n')
    writeFileSync(path, entry('lost', 'acme/none'))
    expect(cli.run(['apply', '-f', path, '-y']).err).toContain(
      'alias lost would name acme/none, which would not be there',
    )
    apply('aliases = []\n', '--prune')
    expect(typed(cli, 'models', 'alias')).toBe('')
  })

  test('doctor names the models of Claude Code that nobody serves, once there is Anthropic', () => {
    const aliases = () =>
      cli
        .json<{ findings: { check: string; level: string; next: string | null }[] }>(['doctor'])
        .findings.filter(({ check }) => check === 'aliases')
    expect(aliases()).toEqual([])
    const key = join(cli.home, 'key')
    writeFileSync(key, 'sk-canary-1234567890')
    typed(cli, 'providers', 'add', 'anthropic', '--key-file', key, '--no-check')
    expect(aliases()).toMatchObject([{ level: 'ok' }])
    typed(cli, 'models', 'remove', 'anthropic/claude-opus-4-8', '-y')
    expect(aliases()).toMatchObject([
      { level: 'warning', next: 'gatewayctl models alias claude-opus-4-8 MODEL' },
    ])
    typed(cli, 'models', 'alias', 'claude-opus-4-8', 'demo/echo')
    expect(aliases()).toMatchObject([{ level: 'ok' }])
  })
})

describe('doctor, of keys for Claude Code', () => {
  const cli = furnishCli(openCli())
  afterAll(() => cli.close())
  const ceilings = () =>
    cli
      .json<{ findings: { check: string; message: string; next: string | null }[] }>(['doctor'])
      .findings.filter(({ check }) => check === 'ceilings')

  test('warns where four of its requests do not fit under a ceiling', () => {
    const prices = ['--in-usd', '5', '--out-usd', '25', '--max-output', '128000']
    typed(cli, 'models', 'add', 'demo/opus', ...prices)
    typed(cli, 'keys', 'create', 'tight', '--daily-usd', '8')
    // Without a name that Claude Code asks for, it is no key for it.
    expect(ceilings()).toEqual([])
    typed(cli, 'models', 'alias', 'claude-opus-4-8', 'demo/opus')
    // 85,000 bytes and what a vendor may add, at 5, and 64,000 tokens at 25 dollars per million.
    expect(ceilings()).toEqual([
      {
        check: 'ceilings',
        level: 'warning',
        message:
          'key tight: daily_spend_limit_usd of $8.00 is less than 4 requests of Claude Code hold at once, $2.02756 each with demo/opus: they wait for one another, and are then refused',
        next: 'gatewayctl limits set tight --daily-usd 9',
      },
    ])
    typed(cli, 'keys', 'create', 'elsewhere', '--daily-usd', '1', '--allow', 'demo/echo')
    typed(cli, 'keys', 'create', 'short', '--daily-usd', '8', '--max-output-tokens', '32000')
    typed(cli, 'limits', 'set', 'tight', '--daily-usd', '9')
    expect(ceilings()).toEqual([])
    typed(cli, 'limits', 'set', 'tight', '--end-user-daily-usd', '1')
    expect(ceilings()[0]?.next).toBe('gatewayctl limits set tight --end-user-daily-usd 9')
  })
})

describe('with the server up', () => {
  const cli = furnishCli(openCli())
  let gateway: Appliance
  let key: string
  beforeAll(async () => {
    key = typed(cli, 'keys', 'create', 'any').trim()
    typed(cli, 'models', 'alias', 'claude-opus-4-8', 'demo/echo')
    gateway = await startAppliance(cli, {
      flags: ['--log', 'json', '--metrics-listen', '127.0.0.1:0'],
    })
  })
  afterAll(async () => {
    await gateway.stop()
    cli.close()
  })

  const ask = (model: string, more: object = {}, init: RequestInit = {}, by = key) =>
    gateway.chat(by, hello(model, more), {
      ...init,
      headers: {
        authorization: `Bearer ${by}`,
        'content-type': 'application/json',
        ...(init.headers as object),
      },
    })
  const served = ({ headers }: Response) => [
    headers.get('x-gateway-model'),
    headers.get('x-gateway-provider'),
  ]
  const listed = async (by = key): Promise<string[]> => {
    const response = await fetch(`${gateway.url}/v1/models`, {
      headers: { authorization: `Bearer ${by}` },
    })
    return ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id)
  }

  test.each(['claude-opus-4-8', 'claude-opus-4-8-20261001', 'echo', 'demo/echo'])(
    '%s is answered, charged and told as demo/echo',
    async (name) => {
      const response = await ask(name)
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({ model: 'demo/echo', provider: 'demo' })
      expect(served(response)).toEqual(['demo/echo', 'demo'])
      expect(response.headers.get('access-control-expose-headers')).toContain('X-Gateway-Model')
      const id = String(response.headers.get('x-generation-id'))
      const receipt = cli.json<object>(['activity', 'show', id])
      expect(receipt).toMatchObject({ model: 'demo/echo', surface: 'chat', session: null })
    },
  )

  test('a stream, a replay and a quote say who serves, a refusal does not', async () => {
    const stream = await ask('claude-opus-4-8', { stream: true })
    expect(served(stream)).toEqual(['demo/echo', 'demo'])
    expect(await stream.text()).toContain('"model":"demo/echo"')
    const again = { headers: { 'idempotency-key': 'once' } }
    await (await ask('claude-opus-4-8', {}, again)).text()
    const replayed = await ask('claude-opus-4-8', {}, again)
    expect(replayed.headers.get('idempotent-replayed')).toBe('true')
    expect(served(replayed)).toEqual(['demo/echo', 'demo'])
    const quoted = await ask('echo', {}, { headers: { 'x-gateway-dry-run': 'true' } })
    expect(await quoted.json()).toMatchObject({ model: 'demo/echo', admitted: true })
    const refused = await ask('claude-opus-4-9')
    expect([refused.status, ...served(refused)]).toEqual([404, null, null])
  })

  test('a fallback may be named so, and is not asked twice', async () => {
    const response = await ask('flaky', {
      models: ['demo/flaky', 'claude-opus-4-8'],
      user: 'fail-502',
    })
    expect(await response.json()).toMatchObject({ model: 'demo/echo' })
    const id = String(response.headers.get('x-generation-id'))
    const { attempts } = cli.json<{ attempts: { model: string }[] }>(['activity', 'show', id])
    expect(attempts.map(({ model }) => model)).toEqual(['demo/flaky', 'demo/echo'])
  })

  test('an allow-list names models, and aliases of these are allowed and listed with them', async () => {
    const echo = typed(cli, 'keys', 'create', 'echo', '--allow', 'demo/echo').trim()
    const lorem = typed(cli, 'keys', 'create', 'lorem', '--allow', 'demo/lorem').trim()
    expect(await listed(echo)).toEqual(['demo/echo', 'claude-opus-4-8'])
    expect(await listed(lorem)).toEqual(['demo/lorem'])
    expect((await ask('claude-opus-4-8', {}, {}, echo)).status).toBe(200)
    const [there, none] = await Promise.all(
      ['claude-opus-4-8', 'claude-opus-4-9'].map(async (name) =>
        JSON.stringify(
          ((await (await ask(name, {}, {}, lorem)).json()) as { error: object }).error,
        ).replaceAll(name, 'NAME'),
      ),
    )
    expect(there).toContain('model_not_allowed')
    expect(there).toBe(none)
    const one = await fetch(`${gateway.url}/v1/models/claude-opus-4-8`, {
      headers: { authorization: `Bearer ${echo}` },
    })
    expect(await one.json()).toMatchObject({ id: 'claude-opus-4-8', owned_by: 'demo' })
  })

  test('the line of a refused request has the model that its name resolved to', async () => {
    const once = typed(cli, 'keys', 'create', 'once', '--rpm', '1').trim()
    expect((await ask('echo', {}, {}, once)).status).toBe(200)
    const refused = await ask('claude-opus-4-8', {}, {}, once)
    expect(refused.status).toBe(429)
    const id = String(refused.headers.get('x-generation-id'))
    expect(cli.json(['why', id])).toMatchObject({ model: 'demo/echo', surface: 'chat' })
  })

  test('a request knows its surface and its session, in the log, lists, reports and metrics', async () => {
    const response = await ask('echo', { prompt_cache_key: 'talk 1' })
    const id = String(response.headers.get('x-generation-id'))
    expect(await response.json()).toMatchObject({ id })
    expect(typed(cli, 'activity', 'show', id)).toMatch(/surface\tchat\nsession\ttalk 1\n/)
    expect(typed(cli, 'why', id)).toMatch(/surface\tchat\nsession\ttalk 1\n/)
    const logged = () =>
      gateway
        .said()
        .split('\n')
        .find((line) => line.includes(id))
    await until(() => logged() !== undefined, 'it is logged')
    expect(JSON.parse(logged() ?? '{}')).toMatchObject({ surface: 'chat', session: 'talk 1' })
    const secret = await ask('echo', { prompt_cache_key: key })
    const other = String(secret.headers.get('x-generation-id'))
    expect(cli.json(['activity', 'show', other])).toMatchObject({ session: null })

    const ids = (...flags: string[]) =>
      cli.json<{ id: string }[]>(['activity', ...flags]).map((line) => line.id)
    expect(ids('--surface', 'chat')).toContain(id)
    expect(ids('--surface', 'messages')).toEqual([])
    expect(cli.run(['activity', '--surface', 'chats']).err).toContain(
      '--surface must be chat, messages, responses, embeddings or rerank',
    )
    const { rows } = cli.json<{ rows: { surface: string; requests: number }[] }>([
      'usage',
      '--by',
      'surface',
    ])
    expect(rows).toMatchObject([{ surface: 'chat' }])
    const metrics = /"msg":"metrics on (http:[^"]+)/.exec(gateway.said())?.[1] ?? ''
    expect(await (await fetch(metrics)).text()).toMatch(
      /gateway_requests_total\{[^}]*surface="chat"[^}]*\}/,
    )
  })
})

describe('a session', () => {
  /** A provider that answers, unless it is told to fail. */
  function startProvider() {
    let status = 200
    let asked = 0
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch() {
        asked++
        if (status !== 200) return Response.json({ error: { message: 'not now' } }, { status })
        const message = { role: 'assistant', content: 'hi' }
        return Response.json({
          choices: [{ index: 0, message, finish_reason: 'stop' }],
          usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        })
      },
    })
    onTestFinished(() => server.stop(true))
    return {
      url: `http://127.0.0.1:${server.port}/v1`,
      get asked() {
        return asked
      },
      turn: (to: number) => {
        status = to
      },
    }
  }

  test('stays with its provider among equal ones while that serves; requests without one are spread', async () => {
    const [a, b] = [startProvider(), startProvider()]
    const cli = furnishCli(openCli())
    onTestFinished(() => cli.close())
    for (const [name, { url }] of [
      ['a', a],
      ['b', b],
    ] as const) {
      typed(cli, 'providers', 'add', name, '--base-url', url, '--no-key', '--no-check')
    }
    typed(cli, 'models', 'add', 'a/m', '--in-usd', '1', '--out-usd', '2')
    typed(cli, 'models', 'route', 'a/m', '--via', 'a', '--order', '1')
    typed(cli, 'models', 'route', 'a/m', '--via', 'b', '--order', '1')
    const key = typed(cli, 'keys', 'create', 'k').trim()
    const gateway = await startAppliance(cli)
    onTestFinished(async () => void (await gateway.kill()))
    const ask = async (session?: string): Promise<string> => {
      const more = session === undefined ? {} : { prompt_cache_key: session }
      const response = await gateway.chat(key, hello('a/m', more))
      await response.text()
      return String(response.headers.get('x-gateway-provider'))
    }
    const several = async (session?: string): Promise<ReadonlySet<string>> => {
      const found = new Set<string>()
      for (let n = 0; n < 40; n++) found.add(await ask(session))
      return found
    }
    const first = await ask('talk')
    expect(await several('talk')).toEqual(new Set([first]))
    expect(await several()).toEqual(new Set(['a', 'b']))
    const [own, other] = first === 'a' ? [a, 'b'] : [b, 'a']
    own.turn(503)
    expect(await ask('talk')).toBe(other)
    own.turn(200)
    expect(await several('talk')).toEqual(new Set([other]))
  })
})
