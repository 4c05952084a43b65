/** `--json`: every command prints what its schema says, which is made of the types. */
import { Database } from 'bun:sqlite'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NOUNS } from '#cli/nouns.ts'
import { openPostgres } from '#db/postgres/store.ts'
import { systemClock } from '#domain/clock.ts'
import type { JsonCommand } from '#scripts/cli-json/records.ts'
import { renderSchemas, type Schema } from '#scripts/cli-json/render.ts'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { POSTGRES_BIN, startPostgres, storeText } from '#test/support/postgres.ts'

let schemas: ReadonlyMap<string, Schema>
beforeAll(async () => {
  schemas = await renderSchemas()
})

/** Ours may grow; a field that is printed and not declared is forgotten. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, closed(value)]),
  )
  return 'properties' in inner && !('additionalProperties' in inner)
    ? { ...inner, additionalProperties: false }
    : inner
}

const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true })

const validators = new Map<JsonCommand, ValidateFunction>()

/** What is wrong with a document, in words; empty when it is as declared. */
function faultsOf(command: JsonCommand, document: unknown): readonly string[] {
  const validate = validators.get(command) ?? ajv.compile(closed(schemas.get(command)) as object)
  validators.set(command, validate)
  if (validate(document)) return []
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  )
}

type Sample = readonly [command: JsonCommand, args: readonly string[], stdin?: string]

const PRICES = ['--in-usd', '1', '--out-usd', '2']

const RECONCILE = ['reconcile', 'openai', '--since', '2026-01-01', '--until', '2026-01-02']

/** A bill of one line, of which the books know nothing. */
const COSTS = {
  object: 'page',
  data: [
    {
      start_time: 1_767_225_600,
      end_time: 1_767_312_000,
      results: [{ amount: { value: 0.000_001, currency: 'usd' }, line_item: 'gpt-5, input' }],
    },
  ],
}

/** In an order in which one makes what the next one needs; the gateway is down. */
const DOWN: readonly Sample[] = [
  ['init', ['init']],
  ['balance top-up', ['balance', 'top-up', '50', '--ref', 'inv-1']],
  ['balance adjust', ['balance', 'adjust', '-1', '--note', 'typo', '-y']],
  ['balance show', ['balance']],
  [
    'keys create',
    ['keys', 'create', 'web', '--rpm', '60', '--daily-usd', '5', '--allow', 'demo/*'],
  ],
  ['keys create', ['keys', 'create', 'admin', '--kind', 'provisioning']],
  ['keys list', ['keys']],
  ['keys show', ['keys', 'show', 'web']],
  ['keys edit', ['keys', 'edit', 'web', '--note', 'for the web', '--expires', '30d']],
  ['keys rotate', ['keys', 'rotate', 'web']],
  ['limits show', ['limits']],
  ['limits show', ['limits', 'show', 'web']],
  ['limits set', ['limits', 'set', 'web', '--rpm', '90']],
  ['limits set', ['limits', 'set', 'web', 'default', '--rpd', '900']],
  ['keys revoke', ['keys', 'revoke', 'admin', '-y']],
  ['accounts create', ['accounts', 'create', 'acme']],
  ['accounts create', ['accounts', 'create', 'team']],
  ['accounts rename', ['accounts', 'rename', 'team', 'research']],
  ['accounts set-limits', ['accounts', 'set-limits', 'acme', '--rpm', '600']],
  ['accounts move-key', ['accounts', 'move-key', 'web', 'acme', '-y']],
  ['accounts close', ['accounts', 'close', 'research', '-y']],
  ['accounts list', ['accounts']],
  ['accounts edit', ['accounts', 'edit', 'acme', '--member-daily-usd', '2']],
  [
    'accounts members',
    ['accounts', 'members', 'add', 'acme', 'bo@example.org', '--role', 'member'],
  ],
  ['accounts members', ['accounts', 'members', 'list', 'acme']],
  [
    'accounts members',
    ['accounts', 'members', 'set-role', 'acme', 'bo@example.org', '--role', 'owner'],
  ],
  ['accounts show', ['accounts', 'show', 'acme']],
  [
    'providers add',
    ['providers', 'add', 'acme', '--base-url', 'http://127.0.0.1:9/v1', '--key-file', '-'],
    'sk-x',
  ],
  ['providers list', ['providers']],
  ['providers show', ['providers', 'show', 'acme']],
  ['providers edit', ['providers', 'edit', 'acme', '--no-key']],
  ['models add', ['models', 'add', 'acme/pix', ...PRICES, '--per-image-usd', '512x512/high=0.04']],
  ['models list', ['models']],
  ['models show', ['models', 'show', 'acme/pix']],
  ['models price', ['models', 'price', 'acme/pix', '--in-usd', '2']],
  ['models route', ['models', 'route', 'acme/pix', '--via', 'demo', '--weight', '2']],
  ['models alias', ['models', 'alias', 'pixie', 'acme/pix']],
  ['models alias', ['models', 'alias']],
  ['models unalias', ['models', 'unalias', 'pixie']],
  ['models refresh --dry-run', ['models', 'refresh', '--dry-run']],
  ['models refresh', ['models', 'refresh', '-y']],
  ['models price --clear', ['models', 'price', 'acme/pix', '--clear', '-y']],
  ['models remove', ['models', 'remove', 'acme/pix', '-y']],
  [
    'providers add',
    [
      'providers',
      'add',
      'openai',
      '--base-url',
      'http://127.0.0.1:9/v1',
      '--key-file',
      '-',
      '--no-check',
    ],
    'sk-x',
  ],
  ['providers remove', ['providers', 'remove', 'acme', '-y']],
  ['providers credentials', ['providers', 'credentials', 'list', 'demo']],
  ['reconcile', [...RECONCILE, '--report', 'costs.json', '--tolerance', '100']],
  ['providers test', ['providers', 'test']],
  ['rates set', ['rates', 'set', 'USD/RUB', '92.50']],
  ['rates show', ['rates']],
  [
    'thresholds set',
    [
      'thresholds',
      'set',
      '--below',
      '60',
      '--email',
      'a@b.example',
      '--webhook',
      'https://b.example/hook',
    ],
  ],
  ['thresholds show', ['thresholds']],
  ['deliveries list', ['deliveries']],
  ['notices set', ['notices', 'set', '--email', 'a@b.example', '--webhook', 'https://b.example/h']],
  ['notices settings', ['notices', 'settings']],
  ['notices list', ['notices']],
  ['notices seen', ['notices', 'seen']],
  [
    'clients create',
    ['clients', 'create', 'wiki', '--redirect', 'https://wiki.example.org/callback'],
  ],
  ['clients list', ['clients']],
  ['clients show', ['clients', 'show', 'wiki']],
  ['clients edit', ['clients', 'edit', 'wiki', '--name', 'Wiki']],
  ['clients rotate-secret', ['clients', 'rotate-secret', 'Wiki', '-y']],
  ['clients remove', ['clients', 'remove', 'Wiki', '-y']],
  ['clients rotate-signing-key', ['clients', 'rotate-signing-key', '-y']],
  [
    'identities add',
    ['identities', 'add', 'google', '--client-id', 'x', '--key-file', '-'],
    'secret-of-google',
  ],
  ['identities list', ['identities']],
  ['identities show', ['identities', 'show', 'google']],
  ['identities edit', ['identities', 'edit', 'google', '--label', 'Google']],
  ['users add', ['users', 'add', 'ann@example.org']],
  ['users list', ['users']],
  ['users show', ['users', 'show', 'ann@example.org']],
  ['users edit', ['users', 'edit', 'ann@example.org', '--name', 'Ann']],
  ['users events', ['users', 'events']],
  ['users test-mail', ['users', 'test-mail', 'ann@example.org']],
  ['groups add', ['groups', 'add', 'staff', 'ann@example.org']],
  ['groups list', ['groups']],
  ['groups show', ['groups', 'show', 'staff']],
  ['groups remove', ['groups', 'remove', 'staff', 'ann@example.org', '-y']],
  ['users disable', ['users', 'disable', 'ann@example.org', '-y']],
  ['users enable', ['users', 'enable', 'ann@example.org']],
  ['users sessions', ['users', 'sessions', 'list', 'ann@example.org']],
  ['users access', ['users', 'access', 'list', 'ann@example.org']],
  ['users sessions', ['users', 'sessions', 'revoke', 'ann@example.org', '-y']],
  ['users passkeys', ['users', 'passkeys', 'list', 'ann@example.org']],
  ['users passkeys', ['users', 'passkeys', 'remove', 'ann@example.org', 'psk_ann', '-y']],
  ['users identities', ['users', 'identities', 'remove', 'ann@example.org', 'google', '-y']],
  ['accounts members', ['accounts', 'members', 'remove', 'acme', 'bo@example.org', '-y']],
  ['users remove', ['users', 'remove', 'ann@example.org', '-y']],
  ['identities remove', ['identities', 'remove', 'google', '-y']],
  ['backup', ['backup', 'one.db', '--verify']],
  ['backup --restore', ['backup', '--restore', 'one.db', '--confirm', 'gateway.db']],
  ['activity list --admin', ['activity', 'list', '--admin']],
  ['export', ['export']],
  ['apply --dry-run', ['apply', '-f', 'house.toml', '--dry-run']],
  ['apply', ['apply', '-f', 'house.toml', '-y']],
  ['apply', ['apply', '-f', 'house.toml', '-y']],
  ['config show', ['config']],
  ['config check', ['config', 'check']],
  ['config path', ['config', 'path']],
  ['completion', ['completion', 'bash']],
  ['status', ['status']],
  ['doctor', ['doctor']],
]

/** Some end unhealthy, or find no gateway: that is not what is judged here. */
const BEARABLE = [0, 4, 6]

let cli: CliHarness
beforeAll(() => {
  cli = openCli()
  const deps = '[rates]\nusd_rub = "95"\n\n[[keys]]\nname = "filed"\nrpm_limit = 60\n'
  writeFileSync(join(cli.home, 'house.toml'), deps)
  writeFileSync(join(cli.home, 'costs.json'), JSON.stringify(COSTS))
  mkdirSync(join(cli.home, 'config', 'gatewayctl'), { recursive: true })
  writeFileSync(
    join(cli.home, 'config', 'gatewayctl', 'config.toml'),
    'listen = "127.0.0.1:4140"\n',
  )
})
afterAll(() => cli.close())

const judged = new Set<JsonCommand>()

function judge(command: JsonCommand, args: readonly string[], stdin?: string): void {
  const { code, out, err } = cli.run([...args, '--json'], stdin === undefined ? {} : { stdin })
  expect([args, BEARABLE.includes(code) ? 'ran' : err]).toEqual([args, 'ran'])
  judgeText(command, out)
}

function judgeText(command: JsonCommand, text: string): void {
  judged.add(command)
  expect([command, faultsOf(command, JSON.parse(text))]).toEqual([command, []])
}

describe('while the gateway is down', () => {
  for (const [command, args, stdin] of DOWN) {
    test(args.join(' '), () => {
      if (command === 'users identities') linkAnn()
      if (args.includes('psk_ann')) giveAnnPasskey()
      judge(command, args, stdin)
    })
  }

  /** As if she had come by Google once. */
  function linkAnn(): void {
    const database = new Database(join(cli.dataDir, 'gateway.db'))
    database.run(
      `INSERT INTO identities (issuer, subject, person_id, linked_at, last_used_at)
       SELECT issuer, '1', people.id, 0, 0 FROM identity_providers, people WHERE email = 'ann@example.org'`,
    )
    database.close(true)
  }

  function giveAnnPasskey(): void {
    const database = new Database(join(cli.dataDir, 'gateway.db'))
    database.run(
      `INSERT INTO passkeys (id, credential_id, person_id, name, public_key, counter, transports, synced, created_at)
       SELECT 'psk_ann', 'c', id, 'Chrome, Linux', 'k', 0, '[]', 0, 0 FROM people WHERE email = 'ann@example.org'`,
    )
    database.close(true)
  }

  test('an error', () => {
    for (const args of [['keys', 'show', 'none'], ['kyes'], ['keys', 'revoke', 'web']]) {
      const { code, out, err } = cli.run([...args, '--json'])
      expect([args, out]).toEqual([args, ''])
      judgeText('error', err)
      expect((JSON.parse(err) as { error: { exit_code: number } }).error.exit_code).toBe(code)
    }
  })
})

describe('while it serves', () => {
  let appliance: Appliance
  let secret = ''
  beforeAll(async () => {
    furnishCli(cli)
    secret = cli.run(['keys', 'create', 'live', '-q']).out.trim()
    const short = cli.run(['keys', 'create', 'short', '-q', '--rpm', '1']).out.trim()
    appliance = await startAppliance(cli)
    const tail = Bun.spawn(
      [join(import.meta.dirname, '..', '..', 'dist', 'gatewayctl'), 'activity', 'tail', '--json'],
      {
        env: cli.env,
        stdout: 'pipe',
      },
    )
    let told = ''
    void (async () => {
      for await (const piece of tail.stdout.pipeThrough(new TextDecoderStream())) told += piece
    })()
    const ask = async (key: string, model: string) =>
      await (
        await appliance.chat(key, {
          model,
          user: 'u_1',
          messages: [{ role: 'user', content: 'fail-502' }],
        })
      ).text()
    await ask(secret, 'demo/image')
    await ask(secret, 'demo/flaky')
    await until(async () => {
      await ask(secret, 'demo/echo')
      await ask(short, 'demo/echo')
      return told.includes('rate_limit_exceeded') && told.includes('"status":200')
    }, 'the tail has told of both')
    tail.kill()
    lines = told.split('\n').slice(0, -1)
  })
  afterAll(() => appliance.kill())
  let lines: readonly string[] = []

  test('activity tail', () => {
    for (const line of lines) judgeText('activity tail', line)
    expect(lines.length).toBeGreaterThan(1)
  })

  test('requests, refused and served', async () => {
    const { out } = await cli.runBeside(['activity', '--json'])
    judgeText('activity list', out)
    const entries = JSON.parse(out) as readonly { readonly id: string }[]
    for (const { id } of entries.slice(-4).concat(entries.slice(0, 1))) {
      judgeText('activity show', (await cli.runBeside(['activity', 'show', id, '--json'])).out)
      judgeText('why', (await cli.runBeside(['why', id, '--json'])).out)
    }
  })

  test('activity kill', async () => {
    const talk = await appliance.chat(secret, {
      model: 'demo/lorem',
      stream: true,
      max_tokens: 100_000,
      messages: [{ role: 'user', content: 'go on' }],
    })
    const ended = talk.text()
    const id = talk.headers.get('x-generation-id') ?? ''
    const killed = await cli.runBeside(['activity', 'kill', id, '--yes', '--json'])
    judgeText('activity kill', killed.out)
    expect(await ended).toContain('ended_by_operator')
  })

  const samples: readonly Sample[] = [
    ['status', ['status']],
    ['dashboard', ['dashboard']],
    ['doctor', ['doctor']],
    ['audit', ['audit']],
    ['models route', ['models', 'route', 'demo/echo']],
    ['ledger list', ['ledger']],
    ['usage drift', ['usage', 'drift']],
    ['usage report', ['usage']],
    ...['user', 'model', 'provider', 'surface', 'day', 'hour'].map(
      (by): Sample => ['usage report', ['usage', '--by', by, '--then-by', 'key', '--since', '7d']],
    ),
    ['keys list', ['keys', '--include-revoked']],
    ['keys show', ['keys', 'show', 'live']],
    ['keys revoke', ['keys', 'revoke', 'live', 'short', '-y']],
    ['deliveries list', ['deliveries']],
  ]
  for (const [command, args] of samples) {
    test(args.join(' '), async () => {
      const { code, out, err } = await cli.runBeside([...args, '--json'])
      expect([args, BEARABLE.includes(code) ? 'ran' : err]).toEqual([args, 'ran'])
      judgeText(command, out)
    })
  }

  test('notices', async () => {
    const tested = await cli.runBeside(['thresholds', 'test', 'email', '--json'])
    judgeText('thresholds test', tested.out)
    judgeText('notices test', (await cli.runBeside(['notices', 'test', 'email', '--json'])).out)
    expect((await cli.runBeside(['backup', '/nowhere/at/all.db'])).code).toBe(1)
    const listed = await cli.runBeside(['notices', '--json'])
    judgeText('notices list', listed.out)
    const [raised] = JSON.parse(listed.out) as { event_id: string; type: string }[]
    expect(raised?.type).toBe('gateway.backup_failed')
    judgeText(
      'notices show',
      (await cli.runBeside(['notices', 'show', raised?.event_id ?? '', '--json'])).out,
    )
    const { event_id } = JSON.parse(tested.out) as { event_id: string }
    judgeText(
      'deliveries show',
      (await cli.runBeside(['deliveries', 'show', event_id, '--json'])).out,
    )
    judgeText(
      'deliveries redeliver',
      (await cli.runBeside(['deliveries', 'redeliver', event_id, '--json'])).out,
    )
  })
})

/** What only a store that nodes share has. */
const SHARED: readonly Sample[] = [
  ['store migrate', ['store', 'migrate']],
  ['store status', ['store', 'status']],
  ['nodes list', ['nodes', 'list']],
  ['nodes end', ['nodes', 'end', 'a', '--yes']],
]

const MOVED: Sample = ['store move', ['store', 'move']]

describe.runIf(POSTGRES_BIN)('with a store that nodes share', () => {
  test('store and nodes', async () => {
    const cluster = await startPostgres(POSTGRES_BIN ?? '')
    const address = await cluster.create()
    const store = await openPostgres({ address, clock: systemClock, node: 'a' })
    try {
      const shared = openCli(cli.binary, { GATEWAY_STORE: storeText(address) })
      for (const [command, args] of SHARED) {
        const { code, out, err } = await shared.runBeside([...args, '--json'])
        expect([args, code, err]).toEqual([args, 0, ''])
        judgeText(command, out)
      }
      shared.close()
      const [command, args] = MOVED
      const target = storeText(await cluster.createEmpty())
      const alone = furnishCli(openCli(cli.binary))
      const { code, out, err } = await alone.runBeside([...args, '--to', target, '--json'])
      expect([code, err]).toEqual([0, ''])
      judgeText(command, out)
      alone.close()
    } finally {
      await store.close()
      await cluster.stop()
    }
  }, 60_000)
})

test('every schema was tried on what its command prints', () => {
  const tried = POSTGRES_BIN === null ? [...SHARED, MOVED].map(([command]) => command) : []
  expect([...judged, ...tried].toSorted()).toEqual([...schemas.keys()].toSorted())
})

/** What prints no document of its own: it runs on, or prints what something else defines. */
const WITHOUT_SCHEMA = new Set(['serve'])

test('every command has a schema', () => {
  const commands = Object.entries(NOUNS).flatMap(([noun, { command, verbs }]) =>
    command ? [noun] : Object.keys(verbs).map((verb) => `${noun} ${verb}`),
  )
  const missing = commands.filter((name) => !schemas.has(name))
  expect(missing.filter((name) => !WITHOUT_SCHEMA.has(name))).toEqual([])
})
