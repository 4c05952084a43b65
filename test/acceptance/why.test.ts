/** `gatewayctl why` on the compiled binary: a real refusal replayed, and the command that it prints lifts it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'

const cli = openCli()
let gateway: Appliance

beforeAll(async () => {
  furnishCli(cli)
  gateway = await startAppliance(cli)
})

afterAll(async () => {
  await gateway?.kill()
  cli.close()
})

const hello = (more: object = {}) => ({
  model: 'demo/echo',
  messages: [{ role: 'user', content: 'hello there world' }],
  ...more,
})

interface Why {
  readonly refusal: { readonly message: string; readonly resets_at: string | null } | null
  readonly now: { readonly admitted: boolean } | null
  readonly remedies: readonly string[]
}

/** A key that has just been refused for its limits, and the refusal as its client saw it. */
async function refuse(name: string, limits: object, body = hello()) {
  const { key } = await gateway.verb('keys.create', { name, ...limits })
  await (await gateway.chat(key, body)).text()
  const response = await gateway.chat(key, body, {
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-request-id': `asked-by-${name}`,
    },
  })
  const { error } = (await response.json()) as {
    error: { message: string; metadata: Readonly<Record<string, unknown>> }
  }
  return { key, id: response.headers.get('x-generation-id') ?? '', status: response.status, error }
}

/** The lines of a record for a pipe, by their names. */
const fieldsOf = (out: string): ReadonlyMap<string, string> =>
  new Map(out.split('\n').map((line) => line.split('\t') as [string, string]))

describe('a refusal', () => {
  test.each([
    ['minute', { rpm_limit: 1 }, 'rpm_limit 1, used 1'],
    ['day', { rpd_limit: 1 }, 'rpd_limit 1, used 1'],
    ['daily', { daily_spend_limit_usd: '0.000001' }, 'daily_spend_limit_usd 0.000001, used '],
    ['monthly', { monthly_spend_limit_usd: '0.000001' }, 'monthly_spend_limit_usd 0.000001, used '],
    ['models', { allowed_models: ['demo/lorem'] }, 'allowed_models demo/lorem, used demo/echo'],
  ])(
    'of the %s limit is told as its client was, and lifted by what is printed',
    async (name, limits, limit) => {
      const { key, id, error } = await refuse(name, limits)
      const { code, out } = cli.run(['why', id])
      expect(code).toBe(0)
      const fields = fieldsOf(out)
      expect(fields.get('request')).toBe(`asked-by-${name} (${id})`)
      expect(fields.get('because')).toBe(error.message)
      expect(fields.get('limit')).toContain(limit)
      expect(fields.get('now')).toContain('it would be refused')
      const json = cli.json<Why>(['why', `asked-by-${name}`])
      expect(json).toMatchObject({ id, refusal: { ...error.metadata }, now: { admitted: false } })
      expect(fields.get('lifts')).toBe(json.refusal?.resets_at ?? '')

      const [remedy = ''] = json.remedies
      expect(fields.get('to lift it')).toBe(remedy)
      const stated = ['--data-dir', cli.dataDir]
      const elsewhere = cli.json<Why>(['why', id, ...stated]).remedies
      expect(elsewhere[0]).toBe(remedy.replace('gatewayctl', `gatewayctl ${stated.join(' ')}`))
      expect(fieldsOf(cli.run(['why', id, ...stated]).out).get('to lift it')).toBe(elsewhere[0])
      const [program, ...args] = remedy.split(' ')
      expect([program, cli.run(args).code]).toEqual(['gatewayctl', 0])
      expect(cli.json<Why>(['why', id]).now).toEqual({ admitted: true, refusal: null })
      expect((await gateway.chat(key, hello())).status).toBe(200)
    },
  )

  test('by an empty balance is lifted by a top-up of its account', async () => {
    expect(cli.run(['accounts', 'create', 'poor']).code).toBe(0)
    const { key } = await gateway.verb('keys.create', { name: 'poor-worker', account: 'poor' })
    const refused = await gateway.chat(key, hello())
    expect(refused.status).toBe(402)
    const id = refused.headers.get('x-generation-id') ?? ''
    const { remedies } = cli.json<Why>(['why', id])
    expect(remedies).toEqual(['gatewayctl balance top-up 10 --account poor'])
    expect(cli.run(remedies[0]?.split(' ').slice(1) ?? []).code).toBe(0)
    expect((await gateway.chat(key, hello())).status).toBe(200)
  })
})

test('an admitted request is explained', async () => {
  const { key } = await gateway.verb('keys.create', { name: 'teller' })
  const answer = await gateway
    .client(key)
    .chat.completions.create(
      hello({ model: 'demo/flaky', user: 'fail-502', models: ['demo/echo'] }) as never,
    )
  const { out } = cli.run(['why', answer.id])
  expect(out).toContain('verdict\tadmitted: 200, ended by completed\n')
  expect(out).toMatch(
    /\tattempt 1: demo, asked for demo\/flaky, failed with status 502 after \d+ ms: /,
  )
  expect(out).toMatch(/\tattempt 2: demo, asked for demo\/echo, answered after \d+ ms\n/)
  expect(out).toContain('\tcharged $')
})

test('nothing of that name: exit 3 and where to look; nothing named: exit 2', () => {
  const none = cli.run(['why', 'req_none'])
  expect(none).toMatchObject({ code: 3, out: '' })
  expect(none.err).toContain('hint: gatewayctl activity list')
  const json = cli.run(['why', 'req_none', '--json'])
  expect(JSON.parse(json.err).error).toMatchObject({ code: 'generation_not_found', exit_code: 3 })
  expect(cli.run(['why']).code).toBe(2)
})

test('with the server down it judges the same', async () => {
  const { id } = await refuse('last', { rpd_limit: 1 })
  const up = cli.json<Why>(['why', id])
  expect(await gateway.stop()).toBe(0)
  expect(cli.json<Why>(['why', id])).toEqual(up)
})
