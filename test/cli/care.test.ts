/** Providers and models looked after: tested, edited, priced anew, unpriced and removed. */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { furnishCli, startAppliance } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { hasTerminals, openTerminal } from '#test/support/terminal.ts'

/** A vendor who knows one key, two models, and one shape of answer. */
const vendor = Bun.serve({
  port: 0,
  fetch(request) {
    const { pathname } = new URL(request.url)
    const key = request.headers.get('authorization')
    if (pathname === '/nolist/models') return new Response('nothing here', { status: 404 })
    if (key !== `Bearer ${GOOD_KEY}`) {
      const message = `Incorrect API key provided: ${key?.slice(7)}. See https://vendor.example/keys`
      return Response.json({ error: { message, code: 'invalid_api_key' } }, { status: 401 })
    }
    if (pathname === '/v1/models') {
      return Response.json({ object: 'list', data: [{ id: 'small' }, { id: 'large' }] })
    }
    return Response.json({
      id: 'x',
      object: 'chat.completion',
      choices: [
        { index: 0, message: { role: 'assistant', content: 'h' }, finish_reason: 'length' },
      ],
      usage: { prompt_tokens: 8, completion_tokens: 1, total_tokens: 9 },
    })
  },
})
const GOOD_KEY = 'sk-good-0123456789'
const BAD_KEY = 'sk-bad-9876543210'
const url = (path: string): string => `http://127.0.0.1:${vendor.port}${path}`

let cli: CliHarness
beforeAll(() => {
  cli = furnishCli(openCli(), '20')
  const add = (name: string, path: string, key: string) =>
    cli.run(['providers', 'add', name, '--base-url', url(path), '--key-file', '-', '--no-check'], {
      stdin: key,
    })
  expect(add('acme', '/v1', BAD_KEY).code).toBe(0)
  expect(add('bare', '/nolist', GOOD_KEY).code).toBe(0)
  for (const model of ['acme/small', 'acme/huge']) {
    cli.run(['models', 'add', model, '--in-usd', '1', '--out-usd', '2'])
  }
})
afterAll(() => {
  void vendor.stop(true)
  cli.close()
})

const testOf = async (...args: string[]) => {
  const { code, out, err } = await cli.runBeside(['providers', 'test', ...args])
  return {
    code,
    rows: out
      .replace(/\n$/, '')
      .split('\n')
      .map((line) => line.split('\t')),
    err,
  }
}

describe('providers', () => {
  test('test checks every provider; a rejected key is unhealthy, and is not printed', async () => {
    const { code, rows } = await testOf()
    expect(code).toBe(6)
    expect(rows.map(([name, ok, status, models]) => [name, ok, status, models])).toEqual([
      ['acme', 'failed', '401', ''],
      ['bare', 'ok', '404', ''],
      ['demo', 'ok', '', ''],
    ])
    expect(rows[0]?.[6]).toBe(
      `401 from 127.0.0.1:${vendor.port}: Incorrect API key provided: [removed]. See [address removed]`,
    )
    expect(rows[1]?.[6]).toBe('it answers, but lists no models: key not checked')
  })

  test('edit changes only the key', async () => {
    const edited = cli.run(['providers', 'edit', 'acme', '--key-file', '-'], { stdin: GOOD_KEY })
    expect(edited).toMatchObject({ code: 0, out: 'acme: key changed\n' })
    expect(await testOf('acme')).toMatchObject({
      code: 0,
      rows: [['acme', 'ok', '200', '2', expect.any(String), '', '']],
    })
    const [act] = cli.json<object[]>(['activity', 'list', '--admin', '--limit', '1'])
    expect(act).toMatchObject({
      verb: 'providers.edit',
      target: 'acme',
      changed: { credential: 'changed' },
    })
    expect(cli.json(['providers', 'show', 'acme'])).toMatchObject({
      models: 2,
      base_url: url('/v1'),
    })
  })

  test('test --model says whether the model is known, --spend requests an answer', async () => {
    expect(await testOf('--model', 'acme/small')).toMatchObject({ code: 0 })
    const huge = await testOf('--model', 'acme/huge')
    expect([huge.code, huge.rows]).toMatchObject([
      6,
      [['acme', 'failed', '200', '2', expect.any(String), 'huge', 'it does not list huge']],
    ])
    const { code, out } = await cli.runBeside([
      'providers',
      'test',
      '--spend',
      '--model',
      'acme/small',
      '--json',
    ])
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject([
      { provider: 'acme', ok: true, prompt_tokens: 8, completion_tokens: 1 },
    ])
    expect(cli.json(['ledger', '--kind', 'charge'])).toEqual([])
    expect((await testOf('--spend')).err).toBe(
      'error: --spend needs --model, the model to request\nhint: gatewayctl providers test --spend --model PROVIDER/MODEL\n',
    )
  })

  test('a running gateway uses the new key and address from the next request', async () => {
    const key = cli.run(['keys', 'create', 'web', '-q']).out.trim()
    const appliance = await startAppliance(cli)
    try {
      const ask = async () => {
        const body = { model: 'acme/small', messages: [{ role: 'user', content: 'hi' }] }
        const answer = await appliance.chat(key, body)
        await answer.text()
        return answer.status
      }
      const move = (to: string) =>
        cli.runBeside(['providers', 'edit', 'acme', '--base-url', to, '--from-env', 'KEY'], {
          env: { KEY: GOOD_KEY },
        })
      expect(await ask()).toBe(200)
      await cli.runBeside(['providers', 'edit', 'acme', '--from-env', 'KEY'], {
        env: { KEY: BAD_KEY },
      })
      expect(await ask()).toBe(502)
      await cli.runBeside(['providers', 'edit', 'acme', '--from-env', 'KEY'], {
        env: { KEY: GOOD_KEY },
      })
      expect(await ask()).toBe(200)
      expect((await move('http://127.0.0.1:1/v1')).out).toBe(
        `acme: base url ${url('/v1')} → http://127.0.0.1:1/v1, key changed\n`,
      )
      expect(await ask()).toBe(502)
      expect((await testOf('acme')).rows[0]?.[6]).toMatch(/^no answer: /)
      expect((await move(url('/v1'))).code).toBe(0)
      expect(await ask()).toBe(200)
      // Whoever was tested has told the time.
      const clockOf = async () => (await cli.runBeside(['doctor'])).out.match(/^. clock .*$/m)?.[0]
      expect(await clockOf()).toBeUndefined()
      expect((await testOf('acme')).code).toBe(0)
      expect(await clockOf()).toMatch(/^✓ clock within \d\.\d s of what acme says$/)
    } finally {
      await appliance.stop()
    }
  })

  describe('a key is never sent to another address than it was given for', () => {
    const edit = (...flags: string[]) => cli.run(['providers', 'edit', 'acme', ...flags])
    const addressOf = () => cli.json<{ base_url: string }>(['providers', 'show', 'acme']).base_url

    test.each([
      ['another host', 'http://localhost:1/v1', []],
      ['another port', 'http://127.0.0.1:1/v1', []],
      ['another path', '/elsewhere', []],
      ['another type beside it', '/elsewhere', ['--type', 'anthropic']],
    ])('%s is refused without the key', (_, where, type) => {
      const to = where.startsWith('/') ? url(where) : where
      const flags = [...type, '--base-url', to]
      expect(edit(...flags)).toEqual({
        code: 2,
        out: '',
        err: `error: the credential of acme was given for ${url('/v1')}: another address needs it anew\nhint: gatewayctl providers edit acme ${flags.join(' ')} --key-file -   (or --no-key)\n`,
      })
      expect(addressOf()).toBe(url('/v1'))
    })

    test("so is another vendor's type, whose address is that vendor's", () => {
      const { code, err } = edit('--type', 'openai')
      expect(code).toBe(2)
      expect(err).toContain(
        'hint: gatewayctl providers edit acme --type openai --base-url https://api.openai.com/v1 --key-file -',
      )
    })

    test('what is the same address needs none; nor does an upstream that asks for none', () => {
      expect(edit('--base-url', `HTTP://127.0.0.1:${vendor.port}/v1/`).code).toBe(0)
      expect(edit('--base-url', url('/v1')).code).toBe(0)
      const moved = edit('--base-url', url('/elsewhere'), '--no-key')
      expect(moved.out).toBe(`acme: base url ${url('/v1')} → ${url('/elsewhere')}, key removed\n`)
      expect(edit('--base-url', url('/v1')).code).toBe(0)
      const keyed = cli.run(['providers', 'edit', 'acme', '--key-file', '-'], { stdin: GOOD_KEY })
      expect(keyed.out).toBe('acme: key changed\n')
    })

    test.skipIf(!hasTerminals)('at a terminal it is asked for', async () => {
      const terminal = openTerminal(
        cli,
        `gatewayctl providers edit acme --base-url ${url('/nolist')}`,
      )
      await terminal.says('another address needs it anew')
      await terminal.says('└')
      terminal.type(`${GOOD_KEY}\r`)
      expect(await terminal.exited).toBe(0)
      expect(terminal.shown()).not.toContain(GOOD_KEY)
      expect(addressOf()).toBe(url('/nolist'))
      cli.run(['providers', 'edit', 'acme', '--base-url', url('/v1'), '--key-file', '-'], {
        stdin: GOOD_KEY,
      })
    })
  })

  test.each([
    [
      ['providers', 'edit', 'acme'],
      2,
      'error: no change given\nhint: gatewayctl providers edit acme --key-file -\n',
    ],
    [
      ['providers', 'edit', 'acem', '--no-key'],
      3,
      'error: no provider is called "acem"\n  did you mean acme?\nhint: gatewayctl providers list\n',
    ],
    [
      ['providers', 'edit', 'demo', '--no-key'],
      2,
      'error: demo is built in: there is nothing to change\n',
    ],
    [
      ['providers', 'edit', 'acme', '--base-url', 'ftp://x'],
      2,
      'error: base_url must be a plain http or https address, without user, query or fragment\nhint: --base-url https://host.example/v1\n',
    ],
    [
      ['providers', 'test', 'nobody'],
      3,
      'error: no provider is called "nobody"\nhint: gatewayctl providers list\n',
    ],
  ])('%j', (args, code, err) => {
    expect(cli.run(args)).toEqual({ code, out: '', err })
  })
})

test('a filter that matches no model or provider is a warning', () => {
  const list = (...flags: string[]) => cli.run(['activity', 'list', '--since', '1s', ...flags])
  expect(list('--model', 'demo/ecko')).toEqual({
    code: 0,
    out: '',
    err: '! there is currently no model "demo/ecko"; did you mean demo/echo?\n',
  })
  expect(list('--provider', 'demmo').err).toBe(
    '! there is currently no provider "demmo"; did you mean demo?\n',
  )
  expect(list('--model', 'demo/image', '--provider', 'demo').err).toBe('')
  expect(list('--model', 'demo/ecko', '-q').err).toBe('')
})

describe('models', () => {
  const price = () => cli.json<{ price: object | null }>(['models', 'show', 'acme/small']).price

  test('price none clears prices that have a fallback', () => {
    cli.run([
      'models',
      'price',
      'acme/small',
      '--cached-in-usd',
      '0.5',
      '--image-in-usd',
      '3',
      '--per-image-usd',
      '0.04',
    ])
    expect(price()).toMatchObject({
      cached_in_usd: '0.5',
      image_in_usd: '3',
      per_image_usd: [{ usd: '0.04' }],
    })
    cli.run(['models', 'price', 'acme/small', '--cached-in-usd', 'none', '--per-image-usd', 'none'])
    expect(price()).toMatchObject({
      cached_in_usd: null,
      image_in_usd: '3',
      per_image_usd: [],
      in_usd: '1',
    })
    expect(cli.run(['models', 'price', 'acme/small', '--in-usd', 'none']).code).toBe(2)
  })

  test('price --clear removes the price, after confirmation, until there is another', () => {
    const clear = ['models', 'price', 'acme/small', '--clear']
    expect(cli.run(clear)).toEqual({
      code: 5,
      out: '',
      err: 'error: refusing to remove the price of acme/small without confirmation (stdin is not a terminal)\nhint: gatewayctl models price acme/small --clear --yes\n',
    })
    expect(cli.run([...clear, '--in-usd', '2']).code).toBe(2)
    // One that would begin tomorrow goes too.
    cli.run(['models', 'price', 'acme/small', '--in-usd', '9', '--from', '1d'])
    expect(cli.run([...clear, '--yes'])).toMatchObject({ code: 0, out: '' })
    expect(price()).toBeNull()
    expect(cli.run(['models', 'list', '--unpriced', '-q']).out).toBe('acme/small\n')
    expect(cli.run(['models', 'price', 'acme/small', '--in-usd', '2']).code).toBe(2)
    expect(cli.run(['models', 'price', 'acme/small', '--in-usd', '2', '--out-usd', '3']).code).toBe(
      0,
    )
    expect(price()).toMatchObject({ in_usd: '2', image_in_usd: null })
  })

  test('remove asks for confirmation, and the model is then unknown', () => {
    expect(cli.run(['models', 'remove', 'acme/huge'])).toMatchObject({
      code: 5,
      err: 'error: refusing to remove model acme/huge without confirmation (stdin is not a terminal)\nhint: gatewayctl models remove acme/huge --yes\n',
    })
    expect(cli.run(['models', 'remove', 'acme/huge', '-y'])).toMatchObject({
      code: 0,
      out: '',
      err: '✓ removed model acme/huge\n',
    })
    expect(cli.run(['models', 'remove', 'acme/huge', '-y']).code).toBe(3)
    expect(cli.run(['models', 'list', 'acme/*', '-q']).out).toBe('acme/small\n')
  })
})

test('a mask with a control character, which an older version took, is listed among the routes, and reset', () => {
  const other = furnishCli(openCli(), '20')
  try {
    const mask = 'demo/\u0007*'
    const database = new Database(join(other.dataDir, 'gateway.db'))
    database.run("INSERT INTO routes (pattern, ordering) VALUES (?, 'weight')", [mask])
    database.run("INSERT INTO hops VALUES (?, NULL, '*', 1, 1)", [mask])
    database.close(true)
    expect(other.json(['models', 'route'])).toMatchObject([{ model: mask, models: 0 }])
    expect(other.run(['models', 'route', mask, '--drop', '*']).err).toMatch(/ --reset removes it$/m)
    expect(other.json(['models', 'route', mask, '--reset'])).toMatchObject({ hops: [] })
    expect(other.json(['models', 'route'])).toEqual([])
    expect(other.run(['models', 'route', mask, '--reset']).code).toBe(3)
  } finally {
    other.close()
  }
})
