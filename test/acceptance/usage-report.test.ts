/** `gatewayctl usage report` and `ledger list` on the compiled binary: tables, TSV, CSV, JSON, up and down. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Appliance, furnishCli, nanos, startAppliance } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'

const cli = openCli()
let gateway: Appliance

beforeAll(async () => {
  furnishCli(cli)
  gateway = await startAppliance(cli)
  const web = (await gateway.verb('keys.create', { name: 'web' })).key
  const batch = (await gateway.verb('keys.create', { name: 'batch, nightly' })).key
  await ask(web, { user: 'ann' })
  await ask(web, { user: '=1+1' })
  await ask(web, {})
  await ask(batch, { model: 'demo/image', modalities: ['image'] })
  expect((await gateway.chat(web, { ...hello, model: 'demo/none' })).status).toBe(404)
})

afterAll(async () => {
  await gateway?.kill()
  cli.close()
})

const hello = { model: 'demo/echo', messages: [{ role: 'user', content: 'hello there world' }] }

async function ask(key: string, more: object): Promise<void> {
  const response = await gateway.chat(key, { ...hello, ...more })
  expect(response.status).toBe(200)
  await response.text()
}

const lines = (...args: readonly string[]): readonly string[] =>
  cli
    .run(args)
    .out.split('\n')
    .filter((line) => line !== '')

interface Report {
  readonly rows: readonly { readonly cost_usd: string; readonly requests: number }[]
  readonly other: { readonly groups: number; readonly cost_usd: string }
  readonly total: { readonly cost_usd: string; readonly requests: number }
}

describe('usage report', () => {
  test('for a pipe is tab-separated, by key, with the total; bare `usage` is the same', () => {
    const report = lines('usage', 'report')
    expect(report).toEqual([
      'batch, nightly\t1\t3\t0\t1\t0.01\t0.9\t99.73',
      'web\t3\t9\t9\t0\t0.000027\t0.00243\t0.27',
      'total\t4\t12\t9\t1\t0.010027\t0.90243\t100',
    ])
    expect(lines('usage')).toEqual(report)
    const { rows } = cli.json<{ rows: readonly { key_id: string; key_name: string }[] }>(['usage'])
    expect(rows.map(({ key_name }) => key_name)).toEqual(['batch, nightly', 'web'])
    expect(lines('usage', '-q')).toEqual(rows.map(({ key_id }) => key_id))
  })

  test('adds up to the ledger, whatever it is grouped by; up and down', async () => {
    const charged = cli
      .json<{ amount_usd: string }[]>(['ledger', '--kind', 'charge', '--limit', '1000'])
      .reduce((sum, { amount_usd }) => sum - nanos(amount_usd), 0n)
    for (const by of ['key', 'user', 'model', 'provider', 'day', 'hour']) {
      for (const top of ['1', '2', '1000']) {
        const { rows, other, total } = cli.json<Report>(['usage', '--by', by, '--top', top])
        expect(nanos(total.cost_usd)).toBe(charged)
        expect(total.requests).toBe(4)
        const shown = rows.reduce((sum, { cost_usd }) => sum + nanos(cost_usd), 0n)
        expect(shown + nanos(other.cost_usd)).toBe(charged)
      }
    }
  })

  test('tells what is beyond the dearest together, and splits further', () => {
    expect(lines('usage', '--by', 'user', '--then-by', 'model', '--top', '1')).toEqual([
      expect.stringMatching(/^\(none\)\tdemo\/image\t1\t/),
      expect.stringMatching(/^other \(3\)\t\t3\t9\t9\t0\t0\.000027\t/),
      expect.stringMatching(/^total\t\t4\t/),
    ])
  })

  test('for a spreadsheet has a header, quotes, every group, no formula and no total', () => {
    const csv = lines('usage', '--by', 'user', '--csv')
    expect(csv[0]).toBe(
      'user,requests,prompt_tokens,completion_tokens,images,cost_usd,cost_rub,share_percent',
    )
    expect(csv.slice(1).toSorted()).toEqual([
      "'=1+1,1,3,3,0,0.000009,0.00081,0.09",
      '(none),2,6,3,1,0.010009,0.90081,99.82',
      'ann,1,3,3,0,0.000009,0.00081,0.09',
    ])
    expect(lines('usage', '--csv')[1]).toContain('"batch, nightly",1,')
    expect(lines('usage', '--by', 'key', '--then-by', 'user', '--csv')[0]).toMatch(
      /^key_name,user,/,
    )
  })

  test('of a time in which nothing was used says so', () => {
    const { code, out, err } = cli.run(['usage', '--since', '0s'])
    expect([code, out]).toEqual([0, ''])
    expect(err).toContain('no usage since')
    expect(lines('usage', '--until', 'month')).toEqual([])
  })

  test('of an account is of its keys alone', () => {
    expect(cli.run(['accounts', 'create', 'other']).code).toBe(0)
    expect(cli.json<Report>(['usage', '--account', 'other']).total.requests).toBe(0)
    expect(cli.json<Report>(['usage', '--account', 'default']).total.requests).toBe(4)
    expect(cli.run(['usage', '--account', 'nobody']).code).toBe(3)
    const noted = (...args: string[]) => cli.run(['usage', ...args]).err.includes('one row here')
    expect(noted('--by', 'user', '--then-by', 'model')).toBe(true)
    expect(noted('--by', 'user', '--then-by', 'model', '--account', 'default')).toBe(false)
    expect([noted('--by', 'user'), noted('--by', 'user', '--then-by', 'key')]).toEqual([
      false,
      false,
    ])
  })

  test.each([
    [['--by', 'colour']],
    [['--by', 'key', '--then-by', 'key']],
    [['--top', '0']],
    [['--since', 'tomorrow']],
    [['--csv', '--json']],
  ])('does not understand %j', (flags) => {
    expect(cli.run(['usage', 'report', ...flags])).toMatchObject({ code: 2, out: '' })
  })
})

describe('ledger list', () => {
  test('for a spreadsheet has a header and every field, narrowed by its flags', () => {
    const [header, ...entries] = lines('ledger', 'list', '--csv', '--kind', 'charge')
    expect(header).toBe(
      'at,id,kind,amount_usd,cost_rub,rub_per_usd,key_id,generation_id,day,user,price_version,ref,note,account',
    )
    expect(entries).toHaveLength(4)
    const today = new Date().toISOString().slice(0, 10)
    expect(entries.at(-1)).toMatch(
      new RegExp(
        `^[^,]+,led_[^,]+,charge,-0\\.000009,0\\.00081,90,key_[^,]+,gen-[^,]+,${today},ann,price_`,
      ),
    )
    expect(lines('ledger', '--csv', '--key', 'web')).toHaveLength(4)
    expect(lines('ledger', '--csv', '--limit', '1')).toHaveLength(2)
    expect(lines('ledger', '--csv', '--since', '0s')).toEqual([header])
    expect(lines('ledger', '--csv', '--until', 'month')).toEqual([header])
    expect(cli.run(['ledger', '--csv', '--json'])).toMatchObject({ code: 2, out: '' })
  })
})

test('with the server down everything reads the same', async () => {
  const read = () =>
    [
      ['usage', '--json'],
      ['usage', '--by', 'day', '--csv'],
      ['ledger', '--csv'],
    ].map((args) => cli.run(args).out)
  const since = (text: string) => text.replace(/"since": "[^"]+"/, '')
  const up = read().map(since)
  expect(await gateway.stop()).toBe(0)
  expect(read().map(since)).toEqual(up)
})
