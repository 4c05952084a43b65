/** `--account` binds: every command there is refuses another account's things under it, or refuses the flag. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NOUNS } from '#cli/nouns.ts'
import { OF_ACCOUNT } from '#cli/of-account.ts'
import {
  type Appliance,
  furnishCli,
  readDatabase,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { type CliHarness, type Ended, openCli } from '#test/support/cli-harness.ts'
import { FULL } from '#test/support/tier.ts'

/** What belongs to the default account. */
interface Theirs {
  readonly secret: string
  readonly request: string
  readonly event: string
  readonly person: string
}

interface Row {
  /** Command lines that name something of the default account. */
  readonly names?: (theirs: Theirs) => readonly (readonly string[])[]
  /** A command line that names nothing: it shows or changes only what is of the account stated. */
  readonly acts?: readonly string[]
  /** How that ends, unless with 0. */
  readonly code?: number
  readonly needsServer?: true
  /** It is about every account, and refuses the flag. */
  readonly isOfAll?: true
}

const person = (...words: readonly string[]): Row => ({
  names: (theirs) => [[...words, theirs.person]],
})
const key = (...words: readonly string[]): Row => ({ names: () => [words] })

/** A row for each command whose noun is of an account; a command without one fails. */
const ROWS: Readonly<Record<string, Row>> = {
  'activity list': { names: () => [['--key', 'solo']], acts: [] },
  'activity show': { names: ({ request }) => [[request], ['asked-once']] },
  // One in progress is ended in kill-request.test.ts.
  'activity kill': {
    names: ({ request }) => [
      [request, '--yes'],
      ['asked-once', '--yes'],
    ],
    needsServer: true,
  },
  'activity tail': { names: () => [['--key', 'solo']], needsServer: true },
  'balance show': { acts: [] },
  'balance top-up': { acts: ['5'] },
  'balance adjust': { acts: ['-1', '--note', 'n', '--yes'] },
  dashboard: { acts: [], needsServer: true },
  'deliveries list': { acts: [] },
  'deliveries show': { names: ({ event }) => [[event]] },
  'deliveries redeliver': { names: ({ event }) => [[event]] },
  'keys create': { acts: ['another'] },
  'keys list': { acts: ['--include-revoked'] },
  'keys show': { names: () => [['solo'], ['--secret-stdin']] },
  'keys edit': key('solo', '--disable'),
  'keys rotate': key('solo', '--grace', '0', '--yes'),
  'keys revoke': {
    names: () => [
      ['solo', '--yes'],
      ['web', 'solo', '--yes'],
    ],
  },
  'ledger list': { names: () => [['--key', 'solo']], acts: [] },
  'limits show': { names: () => [['solo']], acts: [] },
  'limits set': {
    names: () => [
      ['solo', '--rpm', '1'],
      ['web', 'solo', '--rpm', '1'],
    ],
  },
  status: { acts: [] },
  'thresholds show': { acts: [] },
  'thresholds set': { acts: ['--below', '3'] },
  // That of the default account has a webhook, the other one has none.
  'thresholds test': { acts: [], code: 2 },
  'usage report': { acts: ['--by', 'key', '--then-by', 'account'] },
  'usage drift': { acts: [] },
  'users list': { names: (theirs) => [['--before', theirs.person]], acts: [] },
  'users show': person(),
  'users add': { acts: ['bo@example.org'] },
  'users test-mail': { acts: ['bo@example.org'], code: 6 },
  'users edit': person('--name', 'Anna'),
  'users events': { acts: [], code: 2, isOfAll: true },
  'users disable': person('--yes'),
  'users enable': person(),
  'users remove': person('--yes'),
  'users sessions': {
    names: (theirs) => [
      ['revoke', theirs.person, '--yes'],
      ['list', theirs.person],
    ],
  },
  'users access': { names: (theirs) => [['list', theirs.person]] },
  'users identities': {
    names: (theirs) => [
      ['add', theirs.person, 'google', 's-1'],
      ['remove', theirs.person, 'google', '--yes'],
    ],
  },
  'users passkeys': { names: (theirs) => [['list', theirs.person]] },
  why: { names: ({ request }) => [[request], ['asked-once']] },
}

/** Every command, by the words that name it. */
const COMMANDS = Object.entries(NOUNS).flatMap(([noun, { verbs, command }]) =>
  command ? [[noun]] : Object.keys(verbs).map((verb) => [noun, verb]),
)
const isOfAccount = ([noun = '']: readonly string[]): boolean => OF_ACCOUNT.has(noun)

const NOT_FOUND = /^(account|key|generation|notice|person)_not_found$/

const errorOf = ({ err }: Ended) =>
  (JSON.parse(err) as { error: { code: string; message: string; hint: string } }).error

test('every command says how it stands to --account', () => {
  const bound = COMMANDS.filter(isOfAccount).map((words) => words.join(' '))
  expect(Object.keys(ROWS).toSorted()).toEqual(bound.toSorted())
  expect([...OF_ACCOUNT].filter((noun) => !Object.hasOwn(NOUNS, noun))).toEqual([])
  for (const row of Object.values(ROWS)) expect(row.names ?? row.acts).toBeDefined()
})

describe('a command that concerns the whole gateway', () => {
  const cli = openCli()
  afterAll(cli.close)

  const names = COMMANDS.filter((words) => !isOfAccount(words)).map((words) => words.join(' '))
  test.each(names)('refuses the flag: %s', (name) => {
    const ended = cli.run([...name.split(' '), '--account', 'acme', '--json'])
    expect([ended.code, ended.out]).toEqual([2, ''])
    expect(errorOf(ended).message).toBe(
      `--account does not apply to "${name}", which concerns the whole gateway`,
    )
  })

  test('of notices says which flag lists those of one account', () => {
    const { err } = cli.run(['notices', '--account', 'acme'])
    expect(err).toContain('gatewayctl notices list --of ACCOUNT')
  })

  test('refuses it before its words as well, and --admin beside it', () => {
    expect(cli.run(['--account', 'acme', 'models']).code).toBe(2)
    const admin = cli.run(['activity', 'list', '--admin', '--account', 'acme', '--json'])
    expect(admin.code).toBe(2)
    expect(errorOf(admin).message).toContain('--admin')
  })
})

const BESIDE = 'beside a running gateway'
/** The same verbs run either way. */
const MODES = FULL ? [BESIDE, 'without a gateway'] : [BESIDE]

describe.each(MODES)('%s', (mode) => {
  const isServed = mode === BESIDE
  let cli: CliHarness
  let gateway: Appliance | undefined
  let theirs: Theirs

  beforeAll(async () => {
    cli = furnishCli(openCli())
    const secret = cli.run(['keys', 'create', 'solo', '--quiet']).out.trim()
    cli.json(['keys', 'create', 'web'])
    cli.json(['accounts', 'create', 'acme'])
    cli.json(['keys', 'create', 'web', '--account', 'acme'])
    cli.json(['users', 'add', 'ann@example.org', '--account', 'default'])
    cli.json(['thresholds', 'set', '--webhook', 'https://ops.invalid/hook', '--below', '1'])
    gateway = await startAppliance(cli)
    const { event_id } = await gateway.verb('thresholds.test', {})
    const answer = await gateway.chat(
      secret,
      { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] },
      {
        headers: {
          authorization: `Bearer ${secret}`,
          'content-type': 'application/json',
          'x-request-id': 'asked-once',
        },
      },
    )
    await answer.text()
    const request = answer.headers.get('x-generation-id') ?? ''
    await until(() => cli.run(['activity', 'show', request]).code === 0, 'the request is logged')
    theirs = { secret, request, event: event_id, person: 'ann@example.org' }
    if (!isServed) {
      await gateway.stop()
      gateway = undefined
    }
  })
  afterAll(async () => {
    await gateway?.kill()
    cli.close()
  })

  const rows = Object.entries(ROWS).filter(([, { needsServer }]) => isServed || !needsServer)
  const run = (words: string, args: readonly string[], account: string): Ended =>
    cli.run([...words.split(' '), ...args, '--account', account, '--json'], {
      stdin: theirs.secret,
    })
  /** Whatever is changed leaves one. */
  const acts = (): unknown => readDatabase(cli, 'SELECT * FROM acts')
  /** What the default account has, row by row. */
  const state = (): unknown => {
    const [theirAccount] = readDatabase<{ id: string }>(
      cli,
      "SELECT * FROM accounts WHERE name = 'default'",
    )
    const ofAccount = (table: string): object[] =>
      readDatabase(cli, `SELECT * FROM ${table} WHERE account_id = ?`, theirAccount?.id ?? '')
    return [
      theirAccount,
      // Using a key changes when it was used.
      ofAccount('keys').map((one) => ({ ...one, last_used_at: null })),
      ...['memberships', 'thresholds', 'ledger'].map(ofAccount),
      readDatabase(cli, 'SELECT * FROM people WHERE email = ?', theirs.person),
    ]
  }

  test.each(rows)('%s refuses an account that there is not', (words, { names, acts, isOfAll }) => {
    for (const args of [...(names?.(theirs) ?? []), ...(acts ? [acts] : [])]) {
      const ended = run(words, args, 'nobody')
      expect([ended.code, ended.out]).toEqual([isOfAll ? 2 : 3, ''])
      expect(errorOf(ended).code).toBe(isOfAll ? 'usage' : 'account_not_found')
    }
  })

  test.each(rows.filter(([, { names }]) => names))(
    '%s refuses a thing of another',
    (words, row) => {
      const before = [state(), acts()]
      for (const args of row.names?.(theirs) ?? []) {
        const ended = run(words, args, 'acme')
        expect([args, ended.code, ended.out]).toEqual([args, 3, ''])
        expect(errorOf(ended).code).toMatch(NOT_FOUND)
      }
      expect([state(), acts()]).toEqual(before)
    },
  )

  test.each(rows.filter(([, { acts }]) => acts))('%s touches only its own', (words, row) => {
    const before = state()
    const ended = run(words, row.acts ?? [], 'acme')
    expect(ended.code, ended.err).toBe(row.code ?? (words === 'status' && !isServed ? 4 : 0))
    for (const mark of ['"default"', 'solo', theirs.request, theirs.event, theirs.person]) {
      expect(ended.out).not.toContain(mark)
    }
    expect(state()).toEqual(before)
  })

  test('a name in two accounts is told apart by the account, and said with it', () => {
    const ended = cli.run(['keys', 'show', 'web', '--json'])
    expect(ended.code).toBe(3)
    expect(errorOf(ended).message).toMatch(
      /^"web" means several keys; web \(key_\w+, if-\S+\) of account acme; web \(.*\) of account default$/,
    )
    expect(errorOf(ended).hint).toBe('name one by its id')
    const [acme, own] = ['acme', 'default'].map((account) =>
      cli.json<{ id: string; account: string }>(['keys', 'show', 'web', '--account', account]),
    )
    expect([acme?.account, own?.account]).toEqual(['acme', 'default'])
    expect(acme?.id).not.toBe(own?.id)
    expect(cli.json(['ledger', '--key', 'web', '--account', 'acme'])).toEqual([])
  })

  test('a key of another account is refused with the way to it', () => {
    const ended = cli.run(['keys', 'revoke', 'solo', '--account', 'acme', '--yes', '--json'])
    expect(errorOf(ended)).toMatchObject({
      code: 'key_not_found',
      message: expect.stringMatching(/^key solo \(key_\w+\) is of account default, not of acme$/),
      hint: 'repeat it with --account default',
    })
  })

  test('names are completed from the account stated', () => {
    const complete = (...typed: readonly string[]) =>
      cli
        .run(['__complete', '--', ...typed, ''])
        .out.split('\n')
        .map((line) => line.split('\t')[0])
    expect(complete('keys', 'show')).toEqual(expect.arrayContaining(['solo', 'web']))
    expect(complete('--account', 'acme', 'keys', 'show')).not.toContain('solo')
    expect(complete('users', 'show', '--account', 'acme')).not.toContain(theirs.person)
  })
})
