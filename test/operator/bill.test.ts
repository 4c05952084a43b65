/** Vendors' reports in their documented forms, with what they leave out and what is wrong with them. */
import { describe, expect, test } from 'vitest'
import { type Day, renderDay } from '#domain/clock.ts'
import { DocumentFault, fieldsAt } from '#domain/document-fault.ts'
import { parseAsWritten } from '#domain/json.ts'
import { renderPrice } from '#domain/money.ts'
import { BillBuilder, type ReadBill } from '#operator/bill/bill-builder.ts'
import { csvRows } from '#operator/bill/csv-rows.ts'
import type { PagePlace } from '#operator/bill/vendor.ts'
import { billingVendor } from '#operator/bill/vendors.ts'

type Type = 'anthropic' | 'openai' | 'openrouter'

const PLACE: PagePlace = { path: [], project: null }

function read(type: Type, pages: readonly string[], place = PLACE): ReadBill {
  const vendor = billingVendor('vendor', type)
  const bill = new BillBuilder(vendor.grain)
  for (const page of pages) vendor.page(fieldsAt(parseAsWritten(page), []), place, bill)
  return bill.finish(!vendor.hasBuckets)
}

async function readRows(type: Type, text: string): Promise<ReadBill> {
  const vendor = billingVendor('vendor', type)
  const bill = new BillBuilder(vendor.grain)
  for await (const { cells, line } of csvRows(pieces(text))) {
    vendor.row?.(cells, { ...PLACE, path: [line] }, bill)
  }
  return bill.finish(!vendor.hasBuckets)
}

/** Cut anywhere. */
async function* pieces(text: string): AsyncGenerator<string, void> {
  for (let at = 0; at < text.length; at += 7) yield text.slice(at, at + 7)
}

const linesOf = ({ lines }: ReadBill) =>
  lines.map(({ model, className, units, amount }) => [
    model,
    className,
    units,
    amount === null ? null : renderPrice(amount),
  ])

const daysOf = ({ days }: ReadBill): readonly string[] => days.map((day: Day) => renderDay(day))

function faultOf(run: () => unknown): string {
  try {
    run()
  } catch (thrown) {
    if (thrown instanceof DocumentFault) return `${thrown.path.join('.')} ${thrown.message}`
    throw thrown
  }
  return 'none'
}

describe('Anthropic', () => {
  const bucket = (results: string, day = '01'): string =>
    `{"starting_at":"2026-11-${day}T00:00:00Z","ending_at":"2026-11-${String(Number(day) + 1).padStart(2, '0')}T00:00:00Z","results":[${results}]}`
  const page = (...buckets: readonly string[]): string =>
    `{"data":[${buckets.join()}],"has_more":false,"next_page":null}`
  const cost = (type: string, amount: string, more = ''): string =>
    `{"currency":"USD","amount":"${amount}","cost_type":"${type}","model":"m",${more}"description":"x"}`

  test('cents are decimal texts, of any length and sign; what has no class here keeps its name', () => {
    const bill = read('anthropic', [
      page(
        bucket(
          [
            cost('tokens', '123.45', '"token_type":"output_tokens",'),
            cost('tokens', '0.00005', '"token_type":"output_tokens",'),
            cost(
              'tokens',
              '-1',
              '"token_type":"cache_creation.ephemeral_1h_input_tokens","workspace_id":"w",',
            ),
            cost('tokens', '2', '"token_type":"holographic_tokens",'),
            cost('session_usage', '7'),
          ].join(),
        ),
      ),
    ])
    expect(linesOf(bill)).toEqual([
      ['m', 'output_tokens', null, '1.2345005'],
      ['m', 'cache_write_1h_tokens', null, '-0.01'],
      ['m', 'holographic_tokens', null, '0.02'],
      [null, 'session_usage', null, '0.07'],
    ])
    expect(bill).toMatchObject({ counts: false, amounts: true })
  })

  test('a day is told of where both reports have it, an empty one too', () => {
    const usage = page(bucket('{"model":"m","output_tokens":5}', '01'), bucket('', '02'))
    const costs = page(
      bucket('', '02'),
      bucket(cost('tokens', '1', '"token_type":"output_tokens",'), '03'),
    )
    expect(daysOf(read('anthropic', [usage, costs]))).toEqual(['2026-11-02'])
    expect(daysOf(read('anthropic', [usage]))).toEqual(['2026-11-01', '2026-11-02'])
    // Nobody can tell which report an empty page is of, unless it was asked for.
    expect(daysOf(read('anthropic', [page(bucket(''))]))).toEqual([])
    expect(daysOf(read('anthropic', [page(bucket(''))], { ...PLACE, kind: 'usage' }))).toEqual([
      '2026-11-01',
    ])
  })

  test('hours make a day once there are all of them', () => {
    const hour = (at: number): string => {
      const time = (one: number): string => new Date(Date.UTC(2026, 10, 1, one)).toISOString()
      return `{"starting_at":"${time(at)}","ending_at":"${time(at + 1)}","results":[{"model":"m","output_tokens":1}]}`
    }
    const hours = (count: number): string =>
      page(...Array.from({ length: count }, (_, at) => hour(at)))
    expect(daysOf(read('anthropic', [hours(23)]))).toEqual([])
    const whole = read('anthropic', [hours(24)])
    expect([daysOf(whole), linesOf(whole)]).toEqual([
      ['2026-11-01'],
      [['m', 'output_tokens', 24, null]],
    ])
  })

  test('one workspace is taken out of a report of all', () => {
    const lines = ['a', 'b'].map((one) =>
      cost('tokens', '100', `"token_type":"output_tokens","workspace_id":"${one}",`),
    )
    const bill = read('anthropic', [page(bucket(lines.join()))], { ...PLACE, project: 'b' })
    expect(linesOf(bill)).toEqual([['m', 'output_tokens', null, '1']])
  })

  test('a report that was not asked to tell models or descriptions apart is refused by name', () => {
    expect(
      faultOf(() => read('anthropic', [page(bucket('{"model":null,"output_tokens":1}'))])),
    ).toBe('data.0.results.0.model is missing: ask for group_by[]=model')
    const plain = '{"currency":"USD","amount":"1","cost_type":null}'
    expect(faultOf(() => read('anthropic', [page(bucket(plain))]))).toBe(
      'data.0.results.0.cost_type is missing: ask for group_by[]=description',
    )
  })
})

describe('OpenAI', () => {
  const page = (results: string): string =>
    `{"object":"page","data":[{"object":"bucket","start_time":1793491200,"end_time":1793577600,"results":[${results}]}],"has_more":false}`
  const cost = (item: string, value: string, more = ''): string =>
    `{"object":"organization.costs.result","amount":{"value":${value},"currency":"usd"},"line_item":"${item}"${more}}`

  test('line items name model, modality and direction, whatever stands around them', () => {
    const bill = read('openai', [
      page(
        [
          cost('gpt-5-2025-08-07, input', '0.06'),
          cost('priority | gpt-5-2025-08-07, input, long context', '1e-2'),
          cost('gpt-5-2025-08-07, cached input', '0.30000000000000004'),
          cost('gpt-5-2025-08-07, cache writes', '"0.5"'),
          cost('gpt-image-1 image, output', '0.04'),
          cost('gpt-image-1 text, input', '0.01', ',"quantity":2000'),
          cost('gpt-audio audio, input', '0.02'),
          cost('web search tool calls', '0.1'),
          cost('Vector storage', '0.2'),
        ].join(),
      ),
    ])
    expect(linesOf(bill)).toEqual([
      ['gpt-5-2025-08-07', 'input_tokens', null, '0.07'],
      ['gpt-5-2025-08-07', 'cache_read_tokens', null, '0.30000000000000004'],
      ['gpt-5-2025-08-07', 'cache_write_tokens', null, '0.5'],
      ['gpt-image-1', 'image_output_tokens', null, '0.04'],
      // Counted by the costs alone, where there is no report of usage.
      ['gpt-image-1', 'input_tokens', 2_000, '0.01'],
      ['gpt-audio', 'audio_input_tokens', null, '0.02'],
      [null, 'web_search', null, '0.1'],
      [null, 'Vector storage', null, '0.2'],
    ])
    expect(daysOf(bill)).toEqual(['2026-11-01'])
  })

  test('input has the cached tokens in it, and those of images and audio', () => {
    const usage = `{"object":"organization.usage.completions.result","model":"m","input_tokens":1000,"input_cached_tokens":600,
      "input_cache_write_tokens":100,"input_image_tokens":50,"input_audio_tokens":0,"output_tokens":70,"output_image_tokens":20}`
    expect(linesOf(read('openai', [page(usage)]))).toEqual([
      ['m', 'input_tokens', 250, null],
      ['m', 'cache_read_tokens', 600, null],
      ['m', 'cache_write_tokens', 100, null],
      ['m', 'image_input_tokens', 50, null],
      ['m', 'output_tokens', 50, null],
      ['m', 'image_output_tokens', 20, null],
    ])
    const wrong = usage.replace('1000', '500')
    expect(faultOf(() => read('openai', [page(wrong)]))).toContain('has more tokens in its parts')
  })

  test("the dashboard's export has the same fields in columns", async () => {
    const costs = `start_time,end_time,amount_value,amount_currency,line_item,project_id
1793491200,1793577600,0.8958740000000000,usd,"gpt-5-2025-08-07, output",proj_1
1793577600,1793664000,,,,
`
    const bill = await readRows('openai', costs)
    expect(linesOf(bill)).toEqual([['gpt-5-2025-08-07', 'output_tokens', null, '0.895874']])
    expect(daysOf(bill)).toEqual(['2026-11-01', '2026-11-02'])
    const usage = 'start_time,model,input_tokens,output_tokens\n1793491200,m,59200.0,10646.0\n'
    expect(linesOf(await readRows('openai', usage))).toEqual([
      ['m', 'input_tokens', 59_200, null],
      ['m', 'output_tokens', 10_646, null],
    ])
  })
})

describe('OpenRouter', () => {
  test('has one amount for prompt and answer, and leaves out what own keys have paid', () => {
    const bill = read('openrouter', [
      `{"data":[{"date":"2026-11-03","model":"openai/gpt-4.1","model_permaslug":"openai/gpt-4.1-2025-04-14","usage":0.015,
        "byok_usage_inference":0.012,"requests":5,"prompt_tokens":50,"completion_tokens":125,"reasoning_tokens":25},
        {"date":"2026-11-01 00:00:00","model":"openai/gpt-4.1","usage":1,"prompt_tokens":1,"completion_tokens":1}]}`,
    ])
    expect(linesOf(bill)).toHaveLength(6)
    expect(linesOf(bill).slice(0, 3)).toEqual([
      ['openai/gpt-4.1', 'prompt_tokens', 50, null],
      ['openai/gpt-4.1', 'completion_tokens', 125, null],
      ['openai/gpt-4.1', 'all', null, '0.015'],
    ])
    expect(daysOf(bill)).toEqual(['2026-11-01', '2026-11-02', '2026-11-03'])
  })

  test('names a variant behind its model in the export', async () => {
    const text = `generation_id,created_at,cost_total,tokens_prompt,tokens_completion,model_permaslug,variant
gen-1,2026-06-28 03:46:57.713,0,10389,137,openai/gpt-oss-120b,free
gen-2,2026-06-28 03:46:58.713,0.25,5,6,openai/gpt-oss-120b,standard
`
    expect(
      linesOf(await readRows('openrouter', text)).map(([model, name]) => [model, name]),
    ).toEqual([
      ['openai/gpt-oss-120b:free', 'prompt_tokens'],
      ['openai/gpt-oss-120b:free', 'completion_tokens'],
      ['openai/gpt-oss-120b:free', 'all'],
      ['openai/gpt-oss-120b', 'prompt_tokens'],
      ['openai/gpt-oss-120b', 'completion_tokens'],
      ['openai/gpt-oss-120b', 'all'],
    ])
  })
})

describe('comma-separated rows', () => {
  const rows = async (text: string) => {
    const found: object[] = []
    for await (const { cells, line } of csvRows(pieces(text))) found.push({ ...cells, line })
    return found
  }

  test('have quotes, lines within them, and a mark at the beginning', async () => {
    expect(await rows('\uFEFFa,b\r\n1,"x, ""y""\nz"\r\n\r\n,2')).toEqual([
      { a: '1', b: 'x, "y"\nz', line: 2 },
      { a: '', b: '2', line: 5 },
    ])
    expect(await rows('\uFEFF"a","b"\r\n"1","2"')).toEqual([{ a: '1', b: '2', line: 2 }])
  })

  test.each([
    ['a,b\n1\n', '2 has 1 fields, and the header 2'],
    ['a,b\n1,2"3"\n', '2 has a quote in the middle of a field'],
    ['a\n"1\n', '2 has a quote that is not closed'],
    [`a\n${'x'.repeat(70_000)}`, '2 is a line without an end'],
  ])('%j is refused', async (text, said) => {
    const thrown = await rows(text).catch((fault: DocumentFault) => fault)
    expect(thrown instanceof DocumentFault && `${thrown.path.join()} ${thrown.message}`).toBe(said)
  })
})
