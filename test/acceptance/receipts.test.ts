/** Receipts on the compiled binary: what a client reads, what an operator reads, and how far our prices are from a provider's. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Appliance,
  furnishCli,
  nanos,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'

const cli = openCli()
let gateway: Appliance
let key = ''

/** A provider in OpenRouter's manner: it says in dollars what it takes. */
const openRouter = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { stream } = (await request.json()) as { stream?: boolean }
    const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120, cost: 0.00021 }
    if (!stream) {
      const message = { role: 'assistant', content: 'fine' }
      return Response.json({
        id: 'x',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage,
      })
    }
    const chunks = [
      { choices: [{ index: 0, delta: { content: 'fine' } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage },
    ]
    const events = chunks.map((chunk) => `data: ${JSON.stringify({ id: 'x', ...chunk })}\n\n`)
    return new Response(`${events.join('')}data: [DONE]\n\n`, {
      headers: { 'content-type': 'text/event-stream' },
    })
  },
})

beforeAll(async () => {
  furnishCli(cli)
  gateway = await startAppliance(cli)
  key = (await gateway.verb('keys.create', { name: 'worker' })).key
  await gateway.verb('providers.add', {
    name: 'router',
    type: 'openai-compatible',
    base_url: `http://127.0.0.1:${openRouter.port}/v1`,
    credential: null,
  })
  // 100 in and 20 out: $0.00014, where the provider takes $0.00021.
  await gateway.verb('models.add', { model: 'router/m', in_usd: '1', out_usd: '2' })
})

afterAll(async () => {
  await gateway?.kill()
  await openRouter.stop(true)
  cli.close()
})

const hello = (more: object = {}) => ({
  model: 'demo/echo',
  messages: [{ role: 'user' as const, content: 'hello there world' }],
  ...more,
})

interface Receipt {
  readonly id: string
  readonly cost_usd: string
  readonly lines: readonly { readonly class: string; readonly amount_usd: string }[]
  readonly attempts: readonly { readonly outcome: string; readonly reason: string | null }[]
}

/** Asks, waits for the whole answer, and answers the generation's id. */
async function ask(body: object, name?: string): Promise<string> {
  const headers: Record<string, string> = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    ...(name !== undefined && { 'x-request-id': name }),
  }
  const response = await gateway.chat(key, body, { headers })
  await response.text()
  return response.headers.get('x-generation-id') ?? ''
}

const attos = (usd: string): bigint => {
  const [whole = '', part = ''] = usd.split('.')
  return BigInt(whole + part.padEnd(18, '0'))
}

describe('a receipt', () => {
  test('is read by the stock client, and its lines add up to the charge of the ledger', async () => {
    const client = gateway.client(key)
    const answer = await client.chat.completions.create(
      hello({ model: 'demo/flaky', user: 'fail-502', models: ['demo/echo'] }) as never,
    )
    const receipt = await client.get<Receipt>('/generation', { query: { id: answer.id } })
    expect(receipt).toMatchObject({
      object: 'generation',
      id: answer.id,
      key_name: 'worker',
      model: 'demo/echo',
      attempts: [
        { model: 'demo/flaky', outcome: 'failed', status: 502 },
        { model: 'demo/echo', outcome: 'answered' },
      ],
    })
    const sum = receipt.lines.reduce((all, { amount_usd }) => all + attos(amount_usd), 0n)
    expect(sum).toBe(attos(receipt.cost_usd))
    const entries = cli.json<{ generation_id: string; amount_usd: string }[]>([
      'ledger',
      '--kind',
      'charge',
    ])
    const entry = entries.find(({ generation_id }) => generation_id === answer.id)
    expect(nanos(entry?.amount_usd ?? '')).toBe(-nanos(receipt.cost_usd))
  })

  test('of an image shows it by the piece', async () => {
    const id = await ask(hello({ model: 'demo/image', modalities: ['image'] }))
    const { out } = cli.run(['activity', 'show', id])
    expect(out).toContain('output images\t1 × $0.01 = $0.01')
    expect(out).toContain('charged\t$0.01 = 0.9 ₽ at 90')
  })

  test('is shown to an operator by either id, with what the provider states', async () => {
    const id = await ask(hello({ model: 'router/m' }), 'mine-1')
    const receipt = cli.json<Receipt>(['activity', 'show', id])
    expect(receipt).toMatchObject({
      id,
      request_id: 'mine-1',
      cost_usd: '0.00014',
      stated_cost_usd: '0.00021',
      stated_difference_usd: '0.00007',
      stated_difference_percent: 50,
      operator_cost_usd: '0',
    })
    expect(cli.json(['activity', 'show', 'mine-1'])).toEqual(receipt)
    expect(cli.run(['activity', 'show', id]).out).toContain(
      'provider states\t$0.00021 (difference $0.00007, 50%)',
    )
    expect(cli.run(['activity', 'show', id, '-q']).out).toBe(`${id}\n`)
    // The key's holder is not told.
    const open = await gateway.client(key).get<Receipt>('/generation', { query: { id } })
    expect(JSON.stringify(open)).not.toMatch(/0\.00021|stated|operator/)
  })

  test('of a refused request names the limit', async () => {
    const made = await gateway.verb('keys.create', { name: 'poor', daily_spend_limit_usd: '0' })
    const refused = await gateway.chat(made.key, hello())
    expect(refused.status).toBe(402)
    const id = refused.headers.get('x-generation-id') ?? ''
    let out = ''
    // A refusal is not waited for: another node reads its line a moment later.
    await until(() => {
      out = cli.run(['activity', 'show', id]).out
      return out.includes('status\t402 daily_spend_limit_exceeded')
    }, 'the log has its line')
    expect(out).toContain('charged\tnothing')
  })

  test('that is not there: 404 and exit 3; nothing named: exit 2', async () => {
    const none = cli.run(['activity', 'show', 'gen-none'])
    expect(none).toMatchObject({ code: 3, out: '' })
    expect(none.err).toContain('hint: gatewayctl activity list')
    expect(cli.run(['activity', 'show']).code).toBe(2)
    const json = cli.run(['activity', 'show', 'gen-none', '--json'])
    expect(JSON.parse(json.err)).toMatchObject({
      error: { code: 'generation_not_found', exit_code: 3 },
    })
    await expect(
      gateway.client(key).get('/generation', { query: { id: 'gen-none' } }),
    ).rejects.toMatchObject({ status: 404, code: 'generation_not_found', param: 'id' })
  })
})

describe('the list', () => {
  const idsOf = (...flags: string[]) =>
    cli
      .run(['activity', 'list', '-q', ...flags])
      .out.split('\n')
      .filter(Boolean)

  test('is narrowed by its flags, newest first', async () => {
    const broken = await ask(hello({ model: 'demo/flaky', user: 'fail-429' }), 'broken')
    // On a busy machine others take some tenths of a second, too.
    const slow = await ask(hello({ user: 'delay-1500' }))
    expect(idsOf('--limit', '2')).toEqual([slow, broken])
    expect(idsOf('--errors', '--key', 'worker')).toEqual([broken])
    expect(idsOf('--status', '503', '--since', '1h')).toEqual([broken])
    expect(idsOf('--status', '5xx', '--model', 'demo/echo')).toEqual([])
    expect(idsOf('--slow', '1500ms', '--provider', 'demo')).toEqual([slow])
    expect(idsOf('--until', '1h')).toEqual([])
    expect(cli.run(['activity', '--limit', '2']).out).toBe(
      cli.run(['activity', 'list', '--limit', '2']).out,
    )
  })

  test('for a pipe is tab-separated, with full values; JSON has every field', async () => {
    const id = await ask(hello())
    const [line = ''] = cli.run(['activity', '--limit', '1']).out.split('\n')
    const [at = '', status, shown, name, model, ms, ...rest] = line.split('\t')
    expect(new Date(at).toISOString()).toMatch(/Z$/)
    expect([status, shown, name, model]).toEqual(['200', id, 'worker', 'demo/echo'])
    expect(ms).toMatch(/^\d+$/)
    expect(rest).toEqual(['3', '3', '', '0.000009', '', 'chat'])
    expect(cli.json(['activity', '--limit', '1'])).toMatchObject([
      { id, key_name: 'worker', cost_usd: '0.000009', cost_rub: 0.00081, ended_by: 'completed' },
    ])
  })

  test('T39: for a spreadsheet has a header, quotes, and no formula that a stranger wrote', async () => {
    await ask(hello({ user: '=HYPERLINK("http://evil.example",1)' }), 'csv')
    const [header = '', line = ''] = cli.run(['activity', '--csv', '--limit', '1']).out.split('\n')
    expect(header.split(',').slice(0, 4)).toEqual(['created_at', 'id', 'request_id', 'key_id'])
    expect(line).toContain(`,"'=HYPERLINK(""http://evil.example"",1)",demo/echo,demo,false,200,,`)
    const none = cli.run(['activity', '--csv', '--status', '418']).out
    expect(none).toBe(`${header}\n`)
  })

  test.each([
    [['--status', '9xx']],
    [['--slow', 'long']],
    [['--since', 'tomorrow']],
    [['--limit', '0']],
    [['--csv', '--json']],
  ])('does not understand %j', (flags) => {
    expect(cli.run(['activity', 'list', ...flags])).toMatchObject({ code: 2, out: '' })
  })

  test('of a key that nobody has is exit 3', () => {
    expect(cli.run(['activity', '--key', 'nobody'])).toMatchObject({ code: 3, out: '' })
  })
})

describe('drift', () => {
  test('sums up what the provider states, whole and streamed, and is the same when the server is down', async () => {
    const before = cli.json<{ model: string; requests: number }[]>(['usage', 'drift'])[0]
    await ask(hello({ model: 'router/m' }))
    await ask(hello({ model: 'router/m', stream: true }))
    const requests = (before?.requests ?? 0) + 2
    const drift = cli.json<object[]>(['usage', 'drift', '--since', '1h'])
    expect(drift).toEqual([
      {
        model: 'router/m',
        requests,
        charged_usd: expect.any(String),
        stated_usd: expect.any(String),
        difference_usd: expect.any(String),
        difference_percent: 50,
      },
    ])
    const [{ charged_usd, stated_usd, difference_usd }] = drift as [Record<string, string>]
    expect(nanos(charged_usd ?? '')).toBe(BigInt(requests) * 140_000n)
    expect(nanos(stated_usd ?? '')).toBe(BigInt(requests) * 210_000n)
    expect(nanos(difference_usd ?? '')).toBe(BigInt(requests) * 70_000n)
    expect(cli.run(['usage', 'drift', '-q']).out).toBe('router/m\n')

    const up = cli.json(['activity', '--limit', '100'])
    expect(await gateway.stop()).toBe(0)
    expect(cli.json(['usage', 'drift', '--since', '1h'])).toEqual(drift)
    expect(cli.json(['activity', '--limit', '100'])).toEqual(up)
    expect(cli.run(['usage', 'drift', '--since', '0s']).err).toContain('no provider has stated')
  })
})
