/** Every command that prints rows of several accounts says of each whose it is, and one that prints those of one account says which. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EXIT } from '#cli/exit.ts'
import { NOUNS } from '#cli/nouns.ts'
import {
  type Appliance,
  furnishCli,
  readDatabase,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { openReceiver, type Receiver } from '#test/support/receiver.ts'
import { hasTerminals, openTerminal } from '#test/support/terminal.ts'
import { FULL } from '#test/support/tier.ts'

/** They run until they are stopped, or need a terminal; `tail` and the dashboard have their own tests. */
const ENDLESS = new Set(['serve', 'dashboard', 'activity tail'])
/** Further ways to ask for rows. */
const VARIANTS = [
  ['activity', 'list', '--errors'],
  ['activity', 'list', '--admin'],
  ['keys', 'list', '--include-revoked'],
  ...['key', 'account', 'user', 'model', 'day'].flatMap((by) => [
    ['usage', 'report', '--by', by],
    ['usage', 'report', '--by', by, '--then-by', by === 'account' ? 'key' : 'account'],
  ]),
]

const COMMANDS = Object.entries(NOUNS)
  .flatMap(([noun, { verbs, command }]) =>
    command ? [[noun]] : Object.keys(verbs).map((verb) => [noun, verb]),
  )
  .filter((words) => !ENDLESS.has(words.join(' ')))
const LINES = [...COMMANDS, ...VARIANTS].map((words) => words.join(' '))

/** What shows that a row is of an account. */
interface Side {
  readonly name: string
  readonly id: string
  readonly marks: readonly string[]
}

let cli: CliHarness
let gateway: Appliance
let receiver: Receiver
let sides: readonly Side[]

/** Something of everything in each of two accounts. */
beforeAll(async () => {
  cli = furnishCli(openCli())
  receiver = openReceiver(() => new Response(null, { status: 204 }))
  const env = { GATEWAY_ALLOW_LOOPBACK_WEBHOOKS: '1' }
  cli.json(['accounts', 'create', 'acme'])
  gateway = await startAppliance(cli, { env })
  await gateway.verb('notices.set', { webhook_url: `${receiver.url}/` })
  sides = await Promise.all(['default', 'acme'].map(furnish))
  await until(
    () => readDatabase(cli, "SELECT 1 FROM outbox WHERE state <> 'delivered'").length === 0,
    'every notice has arrived',
    60_000,
  )
}, 120_000)
afterAll(async () => {
  await gateway?.kill()
  await receiver?.close()
  cli?.close()
})

async function furnish(account: string): Promise<Side> {
  const hello = { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }
  const [name, user, email] = [`web-${account}`, `u-${account}`, `ann-${account}@example.org`]
  await gateway.verb('balance.top-up', { account, amount_usd: '5' })
  const [low, webhook_url] = ['0.000001', `${receiver.url}/`]
  const made = await gateway.verb('keys.create', { account, name, daily_spend_limit_usd: low })
  for (const body of [hello, { ...hello, user }]) {
    await (await gateway.chat(made.key, body)).arrayBuffer()
  }
  await gateway.verb('thresholds.set', { account, threshold_usd: '1', webhook_url })
  await gateway.verb('thresholds.test', { account })
  const person = await gateway.verb('accounts.members.add', { account, email, role: 'viewer' })
  const idsOf = (table: string, column: string): readonly string[] =>
    readDatabase<{ id: string }>(
      cli,
      `SELECT ${column} AS id FROM ${table} JOIN accounts ON accounts.id = account_id WHERE name = '${account}'`,
    ).map(({ id }) => id)
  const [id = ''] = readDatabase<{ id: string }>(
    cli,
    `SELECT id FROM accounts WHERE name = '${account}'`,
  ).map((row) => row.id)
  const marks = [
    ...[name, user, email, person.id, made.id],
    ...idsOf('activity', 'generation_id'),
    ...idsOf('ledger', 'ledger.id'),
    ...idsOf('outbox', 'event_id'),
  ]
  return { name: account, id, marks }
}

const has = (text: string, { marks }: Side): boolean => marks.some((mark) => text.includes(mark))
const names = (text: string, { name, id }: Side): boolean =>
  new RegExp(`(?:^|[^\\w-])(?:${name}|${id})(?![\\w-])`, 'm').test(text)

/** What is of one side and does not say so, where rows of both stand together. */
function unnamed(rows: readonly string[]): readonly string[] {
  const of = (side: Side): readonly string[] => rows.filter((row) => has(row, side))
  const isMixed = sides.every((side) => of(side).length > 0)
  return isMixed ? sides.flatMap((side) => of(side).filter((row) => !names(row, side))) : []
}

/** Every list in a document, at any depth. */
function listsIn(value: unknown): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return []
  const inner = Object.values(value).flatMap(listsIn)
  if (!Array.isArray(value)) return inner
  return [value.map((row) => JSON.stringify(row)), ...inner]
}

/** Of a file for `apply` its tables, else its lines. */
const rowsOf = (text: string): readonly string[] =>
  text.split(text.includes('\n[[accounts]]') ? /\r?\n(?=\[)/ : /\r?\n/)

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const COUNTED = { json: 0, csv: 0, lines: 0, one: 0 }

test.each(LINES)('%s names the account of each row, or of all', async (line) => {
  const words = line.split(' ')
  const piped = await cli.runBeside(words)
  const lines = rowsOf(piped.out)
  expect(unnamed(lines)).toEqual([])
  // What lacks an argument prints no rows in any form.
  if (piped.code === EXIT.usage) return
  const json = await cli.runBeside([...words, '--json'])
  const lists = json.code === 0 && isJson(json.out) ? listsIn(JSON.parse(json.out)) : []
  for (const rows of lists) expect(unnamed(rows)).toEqual([])
  COUNTED.json += lists.filter((rows) =>
    sides.every((side) => rows.some((row) => has(row, side))),
  ).length

  const shown = sides.filter((side) => lines.some((one) => has(one, side)))
  if (shown.length === 2) COUNTED.lines++
  // Of one of several: which, is said beside it.
  if (shown.length === 1 && piped.code === 0) {
    COUNTED.one++
    expect(`${piped.out}${piped.err}`).toMatch(/account default\b|all 2 accounts/)
  }

  if (FULL && hasTerminals) {
    const command = `stty cols 250; gatewayctl ${line}`
    const terminal = openTerminal(cli, command, { COLUMNS: '250' })
    await terminal.exited
    expect(unnamed(rowsOf(terminal.shown()))).toEqual([])
  }

  // What prints no row of an account has none in a file either.
  if (!FULL && shown.length === 0) return
  // One that has no such flag says so.
  const csv = await cli.runBeside([...words, '--csv'])
  if (csv.code === EXIT.usage) return
  expect(unnamed(rowsOf(csv.out))).toEqual([])
  if (sides.every((side) => has(csv.out, side))) COUNTED.csv++
})

test('there were such rows', () => {
  expect(COUNTED.json).toBeGreaterThan(4)
  expect(COUNTED.csv).toBeGreaterThan(2)
  expect(COUNTED.lines).toBeGreaterThan(4)
  expect(COUNTED.one).toBeGreaterThan(2)
})
