// A month of every ending, and the vendor's bill of it that was made without the gateway: `reconcile` explains every cent, and nothing
// that is not so.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { VerbRecord } from '#operator/verbs.ts'
import { type Appliance, furnishCli, startAppliance } from '#test/support/appliance.ts'
import { type CliHarness, type Ended, openCli } from '#test/support/cli-harness.ts'
import { FULL } from '#test/support/tier.ts'
import { type Month, type SimulatedModel, simulateMonth } from './month.ts'
import {
  anthropicReports,
  openaiReports,
  openrouterActivity,
  openrouterCsv,
  type Reports,
} from './reports.ts'
import { openVendor, type VendorServer } from './vendor-server.ts'

type Reconciliation = VerbRecord<'reconcile'>

const REQUESTS = FULL ? 100_000 : 600
const MODELS: readonly SimulatedModel[] = [
  {
    id: 'vendor/large',
    upstream: 'large-4',
    billed: 'large-4-20250929',
    prices: [{ input: '3', read: '0.3', write: '3.75', write1h: '6', output: '15' }],
  },
  {
    id: 'vendor/small',
    upstream: 'small-1-20251001',
    billed: 'small-1-20251001',
    prices: [
      { input: '1', read: '0.1', write: '1.25', write1h: '2', output: '5' },
      { input: '0.8', read: '0.0028', write: '1', write1h: '1.6', output: '4' },
    ],
  },
]

/** A gateway with the models of a vendor, at one price and then another. */
function furnish(cli: CliHarness, type: string, url: string): void {
  furnishCli(cli)
  const priced = ({ input, read, write, write1h, output }: SimulatedModel['prices'][number]) => [
    ...['--in-usd', input, '--out-usd', output, '--cached-in-usd', read],
    ...['--cache-write-usd', write, '--cache-write-1h-usd', write1h],
    ...['--server-tools', 'web_search=10', '--modifiers', 'inference_geo=us=1.1'],
  ]
  const add = ['providers', 'add', 'vendor', '--type', type, '--base-url', url, '--key-file', '-']
  const commands = [
    [...add, '--no-check'],
    ...MODELS.flatMap(({ id, upstream, prices: [first, ...later] }) => [
      ...(first ? [['models', 'add', id, '--upstream', upstream, ...priced(first)]] : []),
      ...later.map((list) => ['models', 'price', id, ...priced(list)]),
    ]),
  ]
  for (const command of commands) {
    const { code, err } = cli.run(command, { stdin: 'sk-x' })
    if (code !== 0) throw new Error(`gatewayctl ${command.join(' ')} exited ${code}\n${err}`)
  }
}

const readRecord = ({ code, out, err }: Ended): Reconciliation => {
  if (out === '') throw new Error(`exited ${code}\n${err}`)
  return JSON.parse(out) as Reconciliation
}

/** Attos of a decimal, by the test's own reading. */
function attos(usd: string | null): bigint {
  const match = /^(-?)(\d+)\.?(\d*)$/.exec(usd ?? '0')
  const amount = BigInt(`${match?.[2]}${(match?.[3] ?? '').padEnd(18, '0')}`)
  return match?.[1] ? -amount : amount
}

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((all, one) => all + one, 0n)

/** Every difference is the sum of its parts, and every part is of a kind that explains. */
function expectExplained(record: Reconciliation): void {
  for (const row of record.rows) {
    expect([row.day, row.model, row.class, row.unexplained_usd]).toEqual([
      row.day,
      row.model,
      row.class,
      '0',
    ])
    const parts = row.parts.map(({ usd }) => attos(usd))
    if (row.difference_usd !== null) expect(sum(parts)).toBe(attos(row.difference_usd))
    if (row.difference_units !== null && row.their_usd !== null) {
      const units = row.parts.reduce((all, { units: some }) => all + (some ?? 0), 0)
      expect([row.day, row.class, units]).toEqual([row.day, row.class, row.difference_units])
    }
  }
  expect(record.total).toMatchObject({ unexplained_usd: '0', unexplained_percent: 0 })
  expect(record).toMatchObject({ within_tolerance: true, missing_days: [], kept_since: null })
}

const resultsOf = (bucket: object | undefined): readonly object[] =>
  (bucket as { readonly results?: readonly object[] } | undefined)?.results ?? []

const during = ({ from, to }: Month): readonly string[] => [
  ...['--since', new Date(from).toISOString().slice(0, 10)],
  ...['--until', new Date(to).toISOString().slice(0, 10)],
]

describe("Anthropic's usage and cost reports", () => {
  const cli = openCli()
  const KEY = 'sk-ant-admin-canary-0123456789'
  let month: Month
  let reports: Reports
  let vendor: VendorServer
  const file = (name: string, buckets: readonly object[]): string => {
    const path = join(cli.home, name)
    writeFileSync(
      path,
      JSON.stringify({ data: buckets, has_more: false, next_page: null }, null, 1),
    )
    return path
  }
  const reconcile = (...args: readonly string[]): Ended =>
    cli.run(['reconcile', 'vendor', ...during(month), ...args])
  const fromFiles = (
    usage: readonly object[],
    costs: readonly object[],
    ...more: string[]
  ): Ended =>
    reconcile('--report', file('u.json', usage), '--report', file('c.json', costs), ...more)

  beforeAll(() => {
    // The address is known before the reports are.
    const served: Record<string, readonly Readonly<Record<string, unknown>>[]> = {}
    vendor = openVendor({
      key: KEY,
      reports: served,
      startOf: ({ starting_at }) => Date.parse(String(starting_at)),
      limited: 1,
    })
    furnish(cli, 'anthropic', vendor.url)
    month = simulateMonth(cli, {
      provider: 'vendor',
      models: MODELS,
      requests: REQUESTS,
      seed: 7,
      hasHours: true,
      hasSearches: true,
      statesCost: false,
    })
    reports = anthropicReports(month)
    served['/organizations/usage_report/messages'] = reports.usage
    served['/organizations/cost_report'] = reports.costs
  })
  afterAll(() => {
    vendor.close()
    cli.close()
  })

  test('from files: every cent is explained, and of every ending there was one', () => {
    const endings =
      'beyond_hold beyond_hold_cut broke_off complete estimated failed fallback_refused fallback_timeout hung_up killed refunded refused retried'
    expect(Object.keys(month.endings).toSorted()).toEqual(endings.split(' '))
    const record = readRecord(fromFiles(reports.usage, reports.costs, '--json'))
    expectExplained(record)
    expect(attos(record.total.their_usd) / 1_000_000_000_000n).toBe(reports.total)
    expect(record.models).toEqual({
      'large-4': ['vendor/large'],
      'small-1-20251001': ['vendor/small'],
    })
    const reasons = record.parts.map(({ reason }) => reason)
    expect(reasons).toEqual(expect.arrayContaining(['hung_up', 'failed_attempt', 'day_edge']))
    const ids = record.rows.flatMap(({ parts }) => parts.flatMap(({ examples }) => examples))
    expect(ids.length).toBeGreaterThan(0)
    expect(new Set(ids.map((id) => id.slice(0, 4)))).toEqual(new Set(['gen-']))
  })

  test('a price that is not ours is found, however much is in doubt', () => {
    let added = 0n
    const dearer = reports.costs.map((bucket) => ({
      ...bucket,
      results: (bucket['results'] as { token_type: string; model: string; amount: string }[]).map(
        (line) => {
          if (line.token_type !== 'output_tokens' || line.model !== 'small-1-20251001') return line
          const micros = BigInt(line.amount.replace('.', ''))
          added += micros / 10n
          const text = (micros + micros / 10n).toString().padStart(5, '0')
          return { ...line, amount: `${text.slice(0, -4)}.${text.slice(-4)}` }
        },
      ),
    }))
    const ended = fromFiles(reports.usage, dearer, '--json')
    expect(ended.code).toBe(1)
    const record = readRecord(ended)
    const wrong = record.rows.filter(({ unexplained_usd }) => unexplained_usd !== '0')
    expect(new Set(wrong.map((row) => `${row.model} ${row.class}`))).toEqual(
      new Set(['small-1-20251001 output_tokens']),
    )
    expect(wrong.flatMap(({ parts }) => parts).map(({ reason }) => reason)).toContain('price')
    // To a millionth of a dollar a day, but for the requests of which nobody knows how many tokens had a factor of a tenth.
    const found = attos(record.total.unexplained_usd) / 1_000_000_000_000n
    expect(found).toBeLessThanOrEqual(added + 30n)
    expect(found * 100n).toBeGreaterThan(added * 85n)
  })

  test('what nobody here asked for is no doubt of anything', () => {
    const foreign = {
      ...resultsOf(reports.usage[3])[0],
      model: 'never-heard-of',
      server_tool_use: {},
    }
    const usage = reports.usage.map((bucket, day) =>
      day === 3 ? { ...bucket, results: [...resultsOf(bucket), foreign] } : bucket,
    )
    const costs = reports.costs.map((bucket, day) => {
      const line = resultsOf(bucket)[0]
      const more = { ...line, model: 'never-heard-of', amount: '12345.6789' }
      return day === 3 ? { ...bucket, results: [...resultsOf(bucket), more] } : bucket
    })
    const ended = fromFiles(usage, costs, '--json')
    expect(ended.code).toBe(1)
    const record = readRecord(ended)
    expect(record.within_tolerance).toBe(false)
    expect(attos(record.total.unexplained_usd)).toBe(attos('123.456789'))
    type Told = { type: string; state: string; data: object }[]
    const differs = () =>
      cli.json<Told>(['notices', 'list']).filter(({ type }) => type === 'gateway.bill_differs')
    expect(differs()).toMatchObject([{ state: 'open' }])
    const human = fromFiles(usage, costs)
    expect(human.err).toContain('never-heard-of')
    expect(human.err).toContain('next: --project')
    // Told once, until a bill is explained.
    expect(fromFiles(reports.usage, reports.costs).code).toBe(0)
    expect(differs()).toMatchObject([{ state: 'over' }])
  })

  test('tokens that have no price are never within the tolerance', () => {
    const foreign = { ...resultsOf(reports.usage[3])[0], model: 'never-heard-of' }
    const usage = reports.usage.map((bucket, day) =>
      day === 3 ? { ...bucket, results: [...resultsOf(bucket), foreign] } : bucket,
    )
    const ended = reconcile('--report', file('u.json', usage), '--json')
    expect(ended.code).toBe(1)
    expect(readRecord(ended).within_tolerance).toBe(false)
  })

  test('a day that the bill leaves out is named, and what is around midnight is not held against it', () => {
    const without = (buckets: readonly object[]) => buckets.filter((_, day) => day !== 10)
    const record = readRecord(fromFiles(without(reports.usage), without(reports.costs), '--json'))
    expect(record.missing_days).toEqual([
      new Date(month.from + 10 * 86_400_000).toISOString().slice(0, 10),
    ])
    expect(record.total.unexplained_usd).toBe('0')
  })

  test('a bill of amounts alone, or of counts alone, is compared as far as it goes', () => {
    const costs = readRecord(reconcile('--report', file('c.json', reports.costs), '--json'))
    expect(costs.total.unexplained_usd).toBe('0')
    expect(costs.rows.every(({ their_units }) => their_units === null)).toBe(true)
    const usage = readRecord(reconcile('--report', file('u.json', reports.usage), '--json'))
    expect(usage.total).toMatchObject({ their_usd: null, unexplained_usd: '0' })
  })

  test('for people: a sum with its reasons, and a line of CSV for each row', () => {
    const { code, out, err } = fromFiles(reports.usage, reports.costs)
    expect(code).toBe(0)
    expect(err).toMatch(
      /^vendor \S+ to \S+: ours \$[\d.]+, theirs \$[\d.]+, difference -?\$[\d.]+$/m,
    )
    expect(err).toMatch(/requests whose client hung up {2}\(\d+ requests in doubt\)/)
    expect(err).toMatch(/✓ unexplained \$0\.00, 0 %; tolerance 0\.1 %/)
    expect(out.split('\n').length).toBeGreaterThan(100)
    const [header, line] = fromFiles(reports.usage, reports.costs, '--csv').out.split('\n')
    expect(header).toBe(
      'day,model,class,our_units,their_units,difference_units,our_usd,their_usd,difference_usd,unexplained_usd,reasons',
    )
    expect(line).toMatch(/^\d{4}-\d\d-\d\d,large-4,input_tokens,\d+,\d+,/)
  })

  test.each([
    [
      '{"data":[{"starting_at":"2026-01-01T00:00:00Z","ending_at":"2026-01-03T00:00:00Z","results":[{"amount":"1","currency":"USD"}]}]}',
      ':1 data.0 is a time that is not within one day',
    ],
    [
      '{"data":[\n{"starting_at":"2026-01-01T00:00:00+02:00","ending_at":"2026-01-02T00:00:00+02:00","results":[{"uncached_input_tokens":1}]}]}',
      ':2 data.0 is a time that is not within one day',
    ],
    [
      '{"data":[{"starting_at":"2026-01-01T00:00:00Z","ending_at":"2026-01-02T00:00:00Z","results":[\n{"amount":"1","currency":"EUR"}]}]}',
      ':2 data.0.results.0.currency must be USD (got "EUR")',
    ],
    [
      '{"data":[{"starting_at":"2026-01-01T00:00:00Z","ending_at":"2026-01-02T00:00:00Z","results":[\n{"amount":"x","currency":"USD"}]}]}',
      ':2 data.0.results.0.amount must be an amount of cents',
    ],
    [
      '{"data":[{"starting_at":"2026-01-01T00:00:00Z","ending_at":"2026-01-02T00:00:00Z","results":[{"model":"m","uncached_input_tokens":-1}]}]}',
      'uncached_input_tokens must be a whole number',
    ],
    [
      '{"data":[{"starting_at":"2026-01-01T00:00:00Z","ending_at":"2026-01-02T00:00:00Z","results":[{"uncached_input_tokens":1}]}]}',
      'model is missing: ask for group_by[]=model',
    ],
    ['{"data":7}', ':1 data must be a list'],
    ['{"data":[}', ':1 is not JSON'],
    [`{"data":"[",\n"a":${'['.repeat(3_000_000)}`, ':2 is nested more than 64 levels deep'],
  ])('a bad report is refused at its line and field: %.80s', (text, said) => {
    const path = join(cli.home, 'bad.json')
    writeFileSync(path, text)
    const { code, err } = reconcile('--report', path)
    expect([code, err.split('\n')[0]]).toEqual([2, expect.stringContaining(`${said}`)])
    expect(err).toContain(`error: ${path}:`)
  })

  test('a page that is given twice is not billed twice', () => {
    const path = file('twice.json', reports.costs)
    const { code, err } = reconcile('--report', path, '--report', path)
    expect([code, err]).toEqual([2, expect.stringContaining('data.0 is told of twice')])
  })

  describe('from its API, beside a gateway that serves', () => {
    let gateway: Appliance
    beforeAll(async () => {
      gateway = await startAppliance(cli)
    })
    afterAll(() => gateway.kill())

    const ask = (options: { env?: Record<string, string>; stdin?: string }, ...args: string[]) =>
      cli.runBeside(['reconcile', 'vendor', ...during(month), ...args], options)

    test('page by page, after a wait that it asked for; requests go on meanwhile', async () => {
      const key = (await gateway.verb('keys.create', { name: 'beside' })).key
      let isOver = false
      let answered = 0
      const serving = (async () => {
        while (!isOver) {
          const response = await gateway.chat(key, {
            model: 'demo/echo',
            messages: [{ role: 'user', content: 'hi' }],
          })
          expect(response.status).toBe(200)
          await response.text()
          answered++
        }
      })()
      const ended = await ask({ env: { ADMIN: KEY } }, '--from-env', 'ADMIN', '--json')
      isOver = true
      await serving
      const record = readRecord(ended)
      expectExplained(record)
      expect(attos(record.total.their_usd) / 1_000_000_000_000n).toBe(reports.total)
      expect(answered).toBeGreaterThan(10)
      const pages = vendor.asked.filter((path) => path.includes('/cost_report'))
      expect(pages).toHaveLength(5)
      expect(pages[0]).toContain('group_by%5B%5D=description')
      expect(gateway.said()).not.toContain(KEY)
    })

    test('with a key that may not read bills, it says so and not the key', async () => {
      const { code, out, err } = await ask(
        { stdin: 'sk-ant-api03-not-an-admin-key' },
        '--key-file',
        '-',
      )
      expect([code, out]).toEqual([6, ''])
      expect(err).toContain('does not let this key read bills (401)')
      expect(err).toContain('hint: an admin key is needed')
      expect(err).not.toContain(KEY)
      expect(err).not.toContain('not-an-admin-key')
    })
  })

  test('a key on the command line is no way to give one; nor are two sources', () => {
    const { code, err } = reconcile('--report', 'x.json', '--from-env', 'ADMIN')
    expect([code, err]).toEqual([2, expect.stringContaining('--report needs no key')])
    expect(reconcile('--key-file', 'none').err).toContain('cannot read none')
    expect(cli.run(['reconcile', 'demo', ...during(month), '--report', 'x']).err).toContain(
      'the bill of a provider of type demo cannot be read: only of anthropic, openai, openrouter',
    )
    expect(cli.run(['reconcile', 'vendor', '--since', 'today']).err).toContain(
      'is no whole day: today is not on a bill yet',
    )
  })
})

describe.each(['openai', 'openrouter'] as const)('the reports of %s', (type) => {
  const cli = openCli()
  const isOpenAi = type === 'openai'
  let month: Month
  beforeAll(() => {
    furnish(cli, type, 'http://127.0.0.1:9/v1')
    month = simulateMonth(cli, {
      provider: 'vendor',
      models: MODELS,
      requests: FULL ? 20_000 : 600,
      seed: 11,
      hasHours: false,
      hasSearches: false,
      statesCost: !isOpenAi,
    })
  })
  afterAll(() => cli.close())

  const write = (name: string, text: string): string => {
    const path = join(cli.home, name)
    writeFileSync(path, text)
    return path
  }
  const reconcile = (...files: readonly string[]): Reconciliation =>
    readRecord(
      cli.run([
        ...['reconcile', 'vendor', ...during(month), '--json'],
        ...files.flatMap((file) => ['--report', file]),
      ]),
    )

  test.runIf(isOpenAi)('usage and costs, a page or a list of pages', () => {
    const { usage, costs, total } = openaiReports(month)
    const page = (data: readonly object[]) => ({
      object: 'page',
      data,
      has_more: false,
      next_page: null,
    })
    const record = reconcile(
      write('usage.json', JSON.stringify([page(usage.slice(0, 7)), page(usage.slice(7))])),
      write('costs.json', JSON.stringify(page(costs))),
    )
    expectExplained(record)
    const theirs = attos(record.total.their_usd) / 1_000_000_000_000n
    // Each line of costs is cut to a millionth there, and not in the sum.
    expect(theirs - total).toBeLessThanOrEqual(300n)
    expect(theirs - total).toBeGreaterThanOrEqual(0n)
  })

  test.runIf(!isOpenAi)('activity by day, and its export of single requests', () => {
    const data = openrouterActivity(month)
    // As some editors save it.
    const record = reconcile(write('activity.json', `\uFEFF${JSON.stringify({ data })}`))
    expect(record.total.unexplained_usd).toBe('0')
    expect(record.rows.some((row) => row.class === 'prompt_tokens')).toBe(true)
    const exported = reconcile(write('activity.csv', openrouterCsv(month)))
    expect(exported.total.unexplained_usd).toBe('0')
    expect(attos(exported.total.their_usd) / 1_000_000_000n).toBe(
      attos(record.total.their_usd) / 1_000_000_000n,
    )
    const bad = write('bad.csv', openrouterCsv(month).replace(',0,0,', ',0,0,0,'))
    const { code, err } = cli.run(['reconcile', 'vendor', ...during(month), '--report', bad])
    expect([code, err]).toEqual([2, `error: ${bad}:2 has 15 fields, and the header 14\n`])
  })
})
