/** What goes to a file or a pipe is whole, or says on standard error what it leaves out. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { draftAct } from '#domain/act.ts'
import { later, systemClock } from '#domain/clock.ts'
import { newEventId } from '#domain/id.ts'
import { newPerson } from '#signin/register/person.ts'
import { type Appliance, furnishCli, startAppliance } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { aClaim, aNotice, anAct, anActivity, aTopUp, usd } from '#test/support/nouns.ts'
import { hasTerminals, openTerminal } from '#test/support/terminal.ts'
import { FULL } from '#test/support/tier.ts'

/** More than one slice of an export, or many. */
const ROWS = FULL ? 10_003 : 1_103
/** Of what there are few of. */
const FEW = 73

/** Entries, requests, acts, notices and people, as many as stated, of the default account. */
async function fill({ dataDir }: CliHarness): Promise<void> {
  const store = await openStore({ dataDir, clock: systemClock, masterKey: null })
  try {
    const now = systemClock.now()
    const [account] = await store.accounts.list()
    const [key] = (await store.keys.list({ includeRevoked: false, limit: 1 })).keys
    if (account === undefined || key === undefined) throw new Error('there is no account')
    const accountId = account.id
    const numbers = (many: number) => Array.from({ length: many }, (_, index) => index)
    await Promise.all(
      numbers(ROWS).map((n) =>
        store.ledger.credit(
          aTopUp(later(now, -n), usd('0.01'), { accountId, ref: `r${n}` }),
          anAct(),
        ),
      ),
    )
    for (const n of numbers(ROWS)) store.activity.note(anActivity(aClaim(key, later(now, -n))))
    for (const n of numbers(FEW)) {
      const at = later(now, -n)
      await store.acts.note(draftAct(at, 'tester', 'test', { target: String(n), changed: {} }))
      const eventId = newEventId(at)
      await store.notices.post(
        [
          aNotice(at, { accountId, eventId, channel: 'email' }),
          aNotice(at, { accountId, eventId, channel: 'webhook' }),
        ],
        anAct(),
      )
      await store.signin.people.add(newPerson(`p${n}@example.org` as never, at), anAct())
    }
  } finally {
    await store.close()
  }
}

const cli = openCli()

beforeAll(async () => {
  furnishCli(cli)
  await fill(cli)
}, 60_000)
afterAll(() => cli.close())

const linesOf = (out: string): readonly string[] => out.split('\n').slice(0, -1)

const BESIDE = 'beside a running gateway'

describe.each(FULL ? ['without a gateway', BESIDE] : [BESIDE])('%s', (mode) => {
  let gateway: Appliance | undefined
  beforeAll(async () => {
    if (mode === BESIDE) gateway = await startAppliance(cli)
  })
  afterAll(async () => void (await gateway?.stop()))

  test.each([
    // The one more is of the furnishing.
    ['ledger', ['ledger', '--since', 'month'], ROWS + 1, 'id'],
    ['activity', ['activity'], ROWS, 'id'],
  ] as const)('%s: CSV, JSON, TSV and ids have every row once', (_, args, rows, id) => {
    const [header = '', ...csv] = linesOf(cli.run([...args, '--csv']).out)
    expect(csv).toHaveLength(rows)
    const place = header.split(',').indexOf(id)
    const ids = csv.map((line) => line.split(',')[place])
    expect(new Set(ids).size).toBe(rows)
    const listed = cli.run([...args, '--json'])
    const documents = JSON.parse(listed.out) as Record<string, unknown>[]
    expect(documents.map((one) => one[id])).toEqual(ids)
    expect(listed.out).toBe(`${JSON.stringify(documents, null, 2)}\n`)
    expect(linesOf(cli.run([...args, '--quiet']).out)).toEqual(ids)
    expect(linesOf(cli.run(args).out)).toHaveLength(rows)
  })

  test.each([
    ['acts', ['activity', '--admin'], FEW + 3],
    ['deliveries', ['deliveries'], 2 * FEW],
    ['users', ['users'], FEW],
  ] as const)('%s: JSON and TSV have every row once', (_, args, least) => {
    const documents = cli.json<object[]>([...args])
    expect(documents.length).toBeGreaterThanOrEqual(least)
    expect(new Set(documents.map((one) => JSON.stringify(one))).size).toBe(documents.length)
    expect(linesOf(cli.run(args).out)).toHaveLength(documents.length)
  })

  test.each([
    [['ledger'], ROWS + 1],
    [['activity'], ROWS],
    [['deliveries'], 2 * FEW],
    [['users'], FEW],
  ] as const)('%j: a stated limit says how many rows it leaves out', (args, rows) => {
    const note = `! --limit 50 left out ${rows - 50} more rows\n`
    for (const style of [['--json'], []]) {
      const { out, err } = cli.run([...args, '--limit', '50', ...style])
      const printed = style.length > 0 ? (JSON.parse(out) as unknown[]) : linesOf(out)
      expect(printed).toHaveLength(50)
      expect(err).toContain(note)
    }
    expect(cli.run([...args, '--limit', String(rows)]).err).not.toContain('left out')
  })

  test('a limit beyond one slice is kept to the row, and counts what its filters match', () => {
    const limit = ['--limit', '1001', '--csv']
    const { out, err } = cli.run(['ledger', '--kind', 'top_up', ...limit])
    expect(linesOf(out)).toHaveLength(1_002)
    expect(err).toContain(`left out ${ROWS + 1 - 1_001} more rows`)
    expect(cli.run(['ledger', '--kind', 'charge', ...limit])).toMatchObject({ err: '' })
    expect(cli.run(['activity', '--errors', '--json']).out).toBe('[]\n')
  })
})

test.skipIf(!hasTerminals)(
  'a terminal shows the newest, and says that there are more',
  async () => {
    const terminal = openTerminal(cli, 'gatewayctl ledger')
    await terminal.says('the newest 50; --limit N shows more, a pipe gets all')
    const rows = terminal
      .shown()
      .split('\n')
      .filter((line) => line.includes('top_up'))
    expect(rows).toHaveLength(50)
  },
)
