/** Where there are several accounts, every list, report and screen says which it is of. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'

let cli: CliHarness
let gateway: Appliance

const IDS: Record<string, string> = {}

beforeAll(async () => {
  cli = furnishCli(openCli())
  cli.json(['accounts', 'create', 'acme'])
  cli.json(['balance', 'top-up', '5', '--account', 'acme'])
  gateway = await startAppliance(cli)
  for (const account of ['default', 'acme']) {
    const { id, key } = await gateway.verb('keys.create', { name: 'web', account })
    IDS[account] = id
    const answer = await gateway.chat(key, {
      model: 'demo/echo',
      messages: [{ role: 'user', content: 'hello' }],
    })
    await answer.text()
  }
  await until(() => cli.json<object[]>(['activity']).length === 2, 'both are logged')
})
afterAll(async () => {
  await gateway.kill()
  cli.close()
})

const csv = (...args: readonly string[]): readonly (readonly string[])[] =>
  cli
    .run([...args, '--csv'])
    .out.trimEnd()
    .split('\n')
    .map((line) => line.split(','))

describe('a report', () => {
  test('tells keys of one name apart by id and account', () => {
    const [header, ...rows] = csv('usage', '--by', 'key')
    expect(header?.slice(-2)).toEqual(['key_id', 'account'])
    expect(rows.map((row) => [row[0], row[1], ...row.slice(-2)]).toSorted()).toEqual(
      [
        ['web', '1', IDS['acme'], 'acme'],
        ['web', '1', IDS['default'], 'default'],
      ].toSorted(),
    )
    expect(
      cli.run(['usage', '--by', 'key', '--quiet']).out.trimEnd().split('\n').toSorted(),
    ).toEqual(Object.values(IDS).toSorted())
    const lines = cli.run(['usage', '--by', 'key']).out
    for (const [account, id] of Object.entries(IDS)) {
      expect(lines).toContain(`web (${id})\t${account}\t1\t`)
    }
  })

  test('is made by account, too', () => {
    const [header, ...rows] = csv('usage', '--by', 'account', '--then-by', 'key')
    expect([...(header?.slice(0, 2) ?? []), header?.at(-1)]).toEqual([
      'account',
      'key_name',
      'key_id',
    ])
    expect(rows.map((row) => [row[0], row.at(-1)]).toSorted()).toEqual(
      Object.entries(IDS).toSorted(),
    )
    const { account, rows: groups } = cli.json<{
      account: string | null
      rows: readonly Record<string, unknown>[]
    }>(['usage', '--by', 'account', '--account', 'acme'])
    expect([account, groups.length]).toEqual(['acme', 1])
    expect(groups[0]).toMatchObject({
      account: 'acme',
      account_id: expect.any(String),
      requests: 1,
    })
  })
})

describe('a list', () => {
  const OF_DEFAULT = 'account default, one of 2; another: --account NAME\n'
  const OF_ALL = 'all 2 accounts; one alone: --account NAME\n'

  test.each([
    [['keys'], OF_DEFAULT],
    [['limits'], OF_DEFAULT],
    [['ledger'], OF_DEFAULT],
    [['ledger', '--csv'], OF_DEFAULT],
    [['deliveries'], OF_DEFAULT],
    [['usage'], OF_ALL],
    [['usage', '--by', 'model', '--csv'], OF_ALL],
    [['usage', 'drift'], OF_ALL],
    [['activity'], OF_ALL],
  ])('%j says which accounts it covers', (args, note) => {
    expect(cli.run(args).err).toContain(note)
    expect(cli.run([...args, '--account', 'acme']).err).toContain('account acme\n')
  })

  test('names the account of each row', () => {
    const named = (args: readonly string[]) =>
      cli.json<{ account: string }[]>(args).map(({ account }) => account)
    expect(new Set(named(['keys']))).toEqual(new Set(['default']))
    expect(named(['limits', '--account', 'acme'])).toEqual(['acme'])
    expect(new Set(named(['ledger', '--account', 'acme']))).toEqual(new Set(['acme']))
    const lines = cli.run(['activity']).out.trimEnd().split('\n')
    expect(lines.map((line) => line.split('\t').at(-1)).toSorted()).toEqual(['acme', 'default'])
  })
})

test('status says it, and narrows money and keys to the account stated', () => {
  expect(cli.run(['status']).out).toContain('accounts   all 2; one alone: --account NAME\n')
  const { account, accounts, keys } = cli.json<{
    account: string
    accounts: readonly { name: string }[]
    keys: number
  }>(['status', '--account', 'acme'])
  expect([account, accounts.map(({ name }) => name), keys]).toEqual(['acme', ['acme'], 1])
  expect(cli.run(['status', '--account', 'acme']).out).toContain('account    acme (money, keys)\n')
})

test.each([
  ['live', [], 'all accounts · '],
  ['log', [], 'all accounts · '],
  ['models', ['--account', 'acme'], 'all accounts · '],
  ['keys', [], 'account default · '],
  ['spend', [], 'account default · '],
  ['live', ['--account', 'acme'], 'account acme · '],
  ['keys', ['--account', 'acme'], 'account acme · '],
])('the screen %s with %j says "%s"', (screen, flags, label) => {
  const { out } = cli.run(['dashboard', '--once', '--screen', screen, ...flags])
  expect(out).toContain(label)
})

test('nothing is said of accounts where there is only one', () => {
  const alone = furnishCli(openCli())
  for (const args of [['keys'], ['ledger'], ['usage'], ['activity'], ['limits'], ['deliveries']]) {
    expect(alone.run(args).err).not.toContain('account')
  }
  expect(alone.run(['status']).out).not.toContain('one alone')
  alone.close()
})
