/** A provider is added whatever the check finds; the result is printed, unless --no-check. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import { furnishCli } from '#test/support/appliance.ts'
import { type CliHarness, type Ended, openCli } from '#test/support/cli-harness.ts'

const GOOD_KEY = 'sk-good-0123456789'
const LISTED = ['gpt-4o', 'gpt-4o-mini', 'nobody-prices-this']

let asked: string[] = []
/** A vendor who lists three models, of which the catalogue knows two; without end below `/slow`. */
const vendor = Bun.serve({
  port: 0,
  async fetch(request) {
    const { pathname } = new URL(request.url)
    asked.push(pathname)
    if (pathname === '/slow/models') await new Promise(() => {})
    if (pathname === '/nolist/models') return new Response('', { status: 404 })
    if (pathname === '/odd/models') return new Response('words')
    const key = request.headers.get('authorization')
    if (pathname === '/v1/models' && key !== `Bearer ${GOOD_KEY}`) {
      return Response.json({ error: { message: `no such key: ${key}` } }, { status: 401 })
    }
    return Response.json({ data: LISTED.map((id) => ({ id })) })
  },
})

let cli: CliHarness
beforeAll(() => {
  cli = furnishCli(openCli(), '20')
})
beforeEach(() => {
  asked = []
})
afterAll(() => {
  void vendor.stop(true)
  cli.close()
})

const add = (path: string, key: string | null, ...flags: readonly string[]): Promise<Ended> => {
  const where = path.startsWith('/') ? `http://127.0.0.1:${vendor.port}${path}` : path
  const how = key === null ? ['--no-key'] : ['--key-file', '-']
  return cli.runBeside(
    ['providers', 'add', 'mine', '--type', 'openai', '--base-url', where, ...how, ...flags],
    key === null ? {} : { stdin: key },
  )
}

/** Added, and gone again for the next test. */
const isThere = (): boolean => cli.run(['providers', 'remove', 'mine', '-y']).code === 0

test('a key that is taken: how many models it has, and how many of them cost something here', async () => {
  const { code, out, err } = await add('/v1', GOOD_KEY)
  expect({ code, out }).toEqual({ code: 0, out: '' })
  const [added, found, others, ...rest] = err.split('\n')
  expect(added).toBe('✓ added provider mine (openai)')
  expect(found).toBe('✓ key valid · 3 models, 2 of them priced here')
  expect(others).toBe(
    '  1 have no price here and are refused; to add one: gatewayctl models add mine/MODEL --in-usd X --out-usd Y',
  )
  expect(rest[0]).toMatch(/^ {2}\d+ priced models from the catalogue$/)
  expect(asked).toEqual(['/v1/models'])

  const added_by_hand = [
    'models',
    'add',
    'mine/nobody-prices-this',
    '--in-usd',
    '1',
    '--out-usd',
    '2',
  ]
  expect(cli.run(added_by_hand).code).toBe(0)
  const { out: tested } = await cli.runBeside(['providers', 'test', 'mine', '--json'])
  expect(JSON.parse(tested)).toMatchObject([{ ok: true, models: 3, priced_models: 3 }])
  expect(isThere()).toBe(true)
})

test('scripts have it in the document, or say that they do not want it', async () => {
  const { out, err } = await add('/v1', GOOD_KEY, '--json')
  expect(err).toBe('')
  expect(JSON.parse(out)).toMatchObject({
    name: 'mine',
    check: { ok: true, status: 200, models: 3, priced_models: 2 },
  })
  expect(isThere()).toBe(true)
  asked = []

  const unchecked = await add('/v1', GOOD_KEY, '--no-check')
  expect(unchecked.err).toContain('  to check it: gatewayctl providers test mine\n')
  expect(isThere()).toBe(true)
  expect(JSON.parse((await add('/v1', GOOD_KEY, '--no-check', '--json')).out).check).toBe(null)
  expect(isThere()).toBe(true)
  expect((await add('/v1', GOOD_KEY, '-q')).out).toBe('mine\n')
  expect(isThere()).toBe(true)
  expect(asked).toEqual([])
})

test.each([
  [
    'refuses the key',
    '/v1',
    'sk-bad-9876543210',
    /^✖ 401 from 127\.0\.0\.1:\d+: .*\nnext: gatewayctl providers edit mine --key-file -$/m,
  ],
  ['lists nothing', '/nolist', GOOD_KEY, /^✓ it answers, but lists no models: key not checked$/m],
  ['asks for no key', '/open', null, /^✓ it answers · 3 models, 2 of them priced here$/m],
  ['says what cannot be read', '/odd', GOOD_KEY, /^✓ it answers$/m],
  [
    'is not there',
    'http://127.0.0.1:9/v1',
    GOOD_KEY,
    /^! not checked: no answer: .*\n {2}try again: gatewayctl providers test mine$/m,
  ],
  ['never ends', '/slow', GOOD_KEY, /^! not checked: no answer in time$/m],
] as const)('one that %s is added all the same', async (_, path, key, words) => {
  const { code, out, err } = await add(path, key)
  expect({ code, out }).toEqual({ code: 0, out: '' })
  expect(err).toMatch(words)
  expect(err).not.toContain('sk-')
  expect(isThere()).toBe(true)
})

const GOOGLE = ['identities', 'add', 'google', '--client-id', 'x']

test.each([
  [2, ['providers', 'add', 'acme', '--type', 'opnai'], '"opnai" is no type of provider'],
  [2, ['providers', 'add', 'acme'], '"acme" is no known vendor'],
  [2, ['providers', 'add', 'openai', '--base-url', 'no-url'], 'base_url must be'],
  [2, ['providers', 'add', 'Open AI', '--type', 'openai'], 'the name must be'],
  [1, ['providers', 'add', 'demo', '--type', 'openai'], 'there is already a provider "demo"'],
  [2, ['providers', 'add', 'x', '--key-file', '-', '--no-key'], 'cannot be combined'],
  [3, ['providers', 'edit', 'acme', '--key-file', '-'], 'no provider is called "acme"'],
  [2, ['providers', 'edit', 'demo', '--key-file', '-'], 'demo is built in'],
  [2, ['providers', 'edit', 'there', '--type', 'opnai', '--key-file', '-'], 'no type of provider'],
  [2, ['identities', 'add', 'corp', '--client-id', 'x'], '"corp" is not known by name'],
  [2, [...GOOGLE, '--issuer', 'no-url'], '--issuer "no-url"'],
  [1, GOOGLE, 'there is already an identity provider "google"'],
  [3, ['identities', 'edit', 'corp', '--new-secret'], 'no identity provider is called "corp"'],
  [2, ['identities', 'edit', 'google', '--new-secret', '--authoritative-for', '@'], 'domain'],
])('%i: %j is refused before anybody is asked for a secret', async (code, args, words) => {
  furnishEditable()
  const child = Bun.spawn([BINARY, ...args], {
    cwd: cli.home,
    env: cli.env,
    // Never written to and never closed: a command that reads it does not end.
    stdin: 'pipe',
    stderr: 'pipe',
  })
  expect(await child.stderr.text()).toContain(words)
  expect(await child.exited).toBe(code)
})

/** One provider and one identity provider to edit; a second call changes nothing. */
function furnishEditable(): void {
  cli.run(['providers', 'add', 'there', '--type', 'openai', '--no-check'], { stdin: GOOD_KEY })
  cli.run(GOOGLE, { stdin: 'secret' })
}

test('models that the catalogue has no price for: why, and the command that sets one', () => {
  const cli = openCli()
  cli.run(['init'])
  const added = cli.run(
    ['providers', 'add', 'router', '--type', 'openrouter', '--key-file', '-', '--no-check'],
    { stdin: 'sk-test' },
  )
  expect(added.code).toBe(0)
  const said = added.out + added.err
  expect(said).toMatch(/! \d+ models without a price: refused until you set one\n/)
  expect(said).toMatch(/\d+ of them draw; the catalogue has no price for their images/)
  const command =
    /to set one: gatewayctl (models price router\/\S+ --in-usd X --out-usd X --image-out-usd X)/.exec(
      said,
    )?.[1]
  const priced = cli.run((command ?? '').replaceAll('X', '1').split(' '))
  expect(priced.code).toBe(0)
})
