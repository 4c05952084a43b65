/** Files of prices, in both forms that are known. */
import { describe, expect, test } from 'vitest'
import { DocumentFault } from '#domain/document-fault.ts'
import { parseAsWritten } from '#domain/json.ts'
import { readCatalog } from '#operator/catalog/read-catalog.ts'

const read = (text: string) => readCatalog(parseAsWritten(text))

const modelsDev = (cost: string, more = '') =>
  `{"openai":{"id":"openai","models":{"gpt-x":{"id":"gpt-x","name":"GPT X",${more}
    "modalities":{"input":["text","pdf"],"output":["text"]},"limit":{"context":400000,"output":0},"cost":${cost}}}}}`

async function faultOf(text: string): Promise<readonly [path: string, message: string]> {
  const thrown = await read(text).catch((fault: unknown) => fault)
  if (!(thrown instanceof DocumentFault)) throw thrown
  return [thrown.path.join('.'), thrown.message]
}

describe("models.dev's api.json", () => {
  test('gives names, limits and prices, as they are written', async () => {
    expect(
      await read(
        modelsDev(
          '{"input":2.50,"output":1e1,"cache_read":0.30000000000000004e-1,"input_audio":40,"reasoning":10}',
          '"release_date":"2026-03-05","tool_call":true,"reasoning":true,',
        ).replace('0.30000000000000004e-1', '0.025'),
      ),
    ).toEqual([
      {
        served_by: 'openai',
        model: 'gpt-x',
        name: 'GPT X',
        released: '2026-03-05',
        context_length: 400_000,
        input: ['text', 'file'],
        output: ['text'],
        features: ['tools', 'reasoning'],
        usd_per_million: { input: '2.5', output: '10', cache_read: '0.025' },
      },
    ])
  })

  test('a cache that is read for nothing is none, unless the prompt is free too', async () => {
    for (const [cost, read_as] of [
      ['{"input":0.5,"output":1.5,"cache_read":0}', { input: '0.5', output: '1.5' }],
      ['{"input":0,"output":0,"cache_read":0}', { input: '0', output: '0', cache_read: '0' }],
    ] as const)
      expect(await read(modelsDev(cost))).toMatchObject([{ usd_per_million: read_as }])
    const [stated] = await read(modelsDev('{"input":0.5,"output":1.5,"cache_read":0}'))
    expect(JSON.stringify(stated)).not.toContain('cache_read')
  })

  test('has tiers by the size of the prompt, in the newer words or the older', async () => {
    const over = '"context_over_200k":{"input":4,"output":8,"cache_read":0.4}'
    const tiers =
      '"tiers":[{"tier":{"type":"context","size":272000},"input":5,"output":9,"cache_write":6}]'
    expect(await read(modelsDev(`{"input":2,"output":4,${over}}`))).toMatchObject([
      { tiers: [{ above_input_tokens: 200_000, input: '4', output: '8', cache_read: '0.4' }] },
    ])
    expect(await read(modelsDev(`{"input":2,"output":4,${over},${tiers}}`))).toMatchObject([
      { tiers: [{ above_input_tokens: 272_000, input: '5', output: '9', cache_write: '6' }] },
    ])
  })

  test.each([
    ['{"input":1,"output":2,"batch":0.5}', 'its price has a part "batch"'],
    [
      '{"input":1,"output":2,"tiers":[{"tier":{"type":"day","size":1},"input":1,"output":1}]}',
      'its price has a tier by "day", not by the size of the prompt',
    ],
    [
      '{"input":1,"output":2,"context_over_200k":{"input":1,"output":2,"reasoning":3}}',
      'a tier of its price has another price for reasoning than for the answer',
    ],
  ])('%s is refused by name', async (cost, why) => {
    expect(await read(modelsDev(cost))).toMatchObject([{ model: 'gpt-x', refused: why }])
  })

  test('names its clouds as we do', async () => {
    const text = modelsDev('{"input":1,"output":2}').replace('"openai":', '"amazon-bedrock":')
    expect(await read(text)).toMatchObject([{ served_by: 'bedrock' }])
  })

  test.each([
    ['{"input":"free","output":2}', 'openai.models.gpt-x.cost.input'],
    ['{"input":-1,"output":2}', 'openai.models.gpt-x.cost.input'],
    ['{"input":1,"output":2,"tiers":{}}', 'openai.models.gpt-x.cost.tiers'],
    ['[]', 'openai.models.gpt-x.cost'],
  ])('%s is a fault at its field', async (cost, path) => {
    expect((await faultOf(modelsDev(cost)))[0]).toBe(path)
  })

  test('a price that one token cannot have exactly is a fault', async () => {
    const [path, message] = await faultOf(modelsDev('{"input":0.0000000000001,"output":2}'))
    expect(path).toBe('openai.models.gpt-x.usd_per_million.input')
    expect(message).toContain('must be a decimal price in dollars per million tokens')
  })
})

describe('entries of our own form', () => {
  const entry = (prices: string) =>
    `[{"served_by":"acme","model":"m","name":"M","input":["text"],"output":["text"],"features":[],"context_length":1000,${prices}}]`

  test('may have their prices as texts or as numbers', async () => {
    expect(
      await read(entry('"usd_per_million":{"input":"0.30","output":1.10},"modifiers":{"a=b":2}')),
    ).toMatchObject([
      {
        context_length: 1_000,
        usd_per_million: { input: '0.30', output: '1.1' },
        modifiers: { 'a=b': '2' },
      },
    ])
  })

  test.each([
    ['"usd_per_million":{"input":"x"}', '0.usd_per_million.input'],
    ['"usd_per_milion":{}', '0.usd_per_milion'],
    ['"tiers":[{"above_input_tokens":0}]', '0.tiers.0.above_input_tokens'],
  ])('%s is a fault', async (prices, path) => {
    expect((await faultOf(entry(prices)))[0]).toBe(path)
  })

  test('no other document is one', async () => {
    for (const text of ['{}', '{"openai":{}}', '"x"', '7']) {
      expect((await faultOf(text))[1]).toContain('is neither a list of entries')
    }
  })
})
