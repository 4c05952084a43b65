/** Teams on the compiled program: limits of an account over all its keys, what its refusals say and what lifts them, moving and closing. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
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

const hello = { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }

interface Told {
  readonly status: number
  readonly code: string | null
  readonly metadata: Readonly<Record<string, unknown>>
  readonly message: string
  readonly headers: Headers
}

type Headed = Readonly<Record<string, string>>

const post = (key: string, more: object, headers: Headed): Promise<Response> =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...hello, ...more }),
  })

async function ask(key: string, more: object = {}, sent: Headed = {}): Promise<Told> {
  const response = await post(key, more, sent)
  const { error } = (await response.json()) as {
    error?: { code: string; message: string; metadata?: Told['metadata'] }
  }
  const { status, headers } = response
  const [code, message] = [error?.code ?? null, error?.message ?? '']
  return { status, code, message, metadata: error?.metadata ?? {}, headers }
}

/** An account with money, and two keys of it. */
async function openTeam(name: string, ...flags: readonly string[]) {
  expect(cli.run(['accounts', 'create', name, ...flags])).toMatchObject({ code: 0 })
  expect(cli.run(['balance', 'top-up', '5', '--account', name])).toMatchObject({ code: 0 })
  const issue = (n: number) =>
    gateway.verb('keys.create', { name: `${name}-${n}`, account: name, rpm_limit: 100 })
  return [await issue(1), await issue(2)] as const
}

/** A word in at $1 and a word out at $2 a million. */
const CHARGE = '0.000003'

describe.each([
  ['--rpm', '1', 429, 'rate_limit_exceeded', 'rpm_limit'],
  ['--rpd', '1', 429, 'rate_limit_exceeded', 'rpd_limit'],
  ['--tpm', '1', 429, 'rate_limit_exceeded', 'tpm_limit'],
  ['--daily-usd', CHARGE, 402, 'daily_spend_limit_exceeded', 'daily_spend_limit_usd'],
  ['--monthly-usd', CHARGE, 402, 'monthly_spend_limit_exceeded', 'monthly_spend_limit_usd'],
] as const)('accounts set-limits %s', (flag, low, status, code, limit) => {
  test('holds for all its keys, says whose it is, and `why` says what lifts it', async () => {
    const team = `team${flag}`
    const [first, second] = await openTeam(team)
    expect((await ask(first.key)).status).toBe(200)
    const set = (value: string) => cli.run(['accounts', 'set-limits', team, flag, value])
    expect(set(low).out).toBe(`${team}: ${flag.slice(2)} none → ${low}\n`)

    const refused = await ask(second.key, {}, { 'x-request-id': `refused${flag}` })
    expect(refused).toMatchObject({ status, code, metadata: { limit, limit_of: 'account' } })
    expect(refused.message).toContain(`the account of key ${team}-2`)
    expect(/may use \d+; room/.test(refused.message)).toBe(flag === '--tpm')
    // The rate headers tell of the key.
    expect(refused.headers.get('x-ratelimit-limit-minute')).toBe('100')
    const dry = await post(second.key, {}, { 'X-Gateway-Dry-Run': 'true' })
    expect(await dry.text()).toContain('"limit_of":"account"')

    const why = cli.run(['why', `refused${flag}`])
    const [, lift = ''] = /gatewayctl (accounts set-limits .*)/.exec(why.out) ?? []
    expect(lift).toContain(`${team} ${flag} `)
    expect(cli.run(lift.split(' '))).toMatchObject({ code: 0 })
    expect((await ask(second.key)).status).toBe(200)
    set(low)
    expect((await ask(first.key)).status).toBe(status)
    set('none')
    expect((await ask(first.key)).status).toBe(200)
  })
})

test('a repeat is answered before the account’s limits', async () => {
  const [first] = await openTeam('repeats')
  const once = { 'Idempotency-Key': 'again' }
  expect((await ask(first.key, {}, once)).status).toBe(200)
  cli.run(['accounts', 'set-limits', 'repeats', '--rpm', '1'])
  expect((await ask(first.key)).status).toBe(429)
  expect((await ask(first.key, {}, once)).status).toBe(200)
})

test('of its models and of answers’ bounds the narrower one holds', async () => {
  const [first] = await openTeam('narrow', '--allow', 'demo/echo', '--max-output-tokens', '1')
  const other = await ask(first.key, { model: 'demo/lorem' })
  expect(other).toMatchObject({
    status: 403,
    code: 'model_not_allowed',
    metadata: { limit: 'allowed_models', limit_of: 'account', limit_value: 'demo/echo' },
  })
  const models = await gateway.client(first.key).models.list()
  expect(models.data.map(({ id }) => id)).toEqual(['demo/echo'])
  const { choices } = await gateway.client(first.key).chat.completions.create({
    model: 'demo/echo',
    messages: [{ role: 'user', content: 'one two three' }],
  })
  expect(choices[0]?.finish_reason).toBe('length')
})

test('windows and sums of an account outlive the gateway', async () => {
  const [first, second] = await openTeam('survivor', '--rpm', '2', '--daily-usd', '1')
  expect((await ask(first.key)).status).toBe(200)
  expect((await ask(second.key)).status).toBe(200)
  await gateway.kill()
  gateway = await startAppliance(cli)
  expect(await ask(first.key)).toMatchObject({
    status: 429,
    metadata: { limit: 'rpm_limit', limit_of: 'account', used: 2 },
  })
  cli.run(['accounts', 'set-limits', 'survivor', '--rpm', 'none', '--daily-usd', '0.000006'])
  expect(await ask(second.key)).toMatchObject({ status: 402, metadata: { limit_of: 'account' } })
})

test('what is used of its limits is shown', async () => {
  const [first] = await openTeam('watched', '--rpm', '9', '--tpm', '10000', '--monthly-usd', '2')
  expect((await ask(first.key)).status).toBe(200)
  const { out } = cli.run(['accounts', 'show', 'watched'])
  expect(out).toMatch(/requests per minute\t8 of 9 left, resets in \d+ s\n/)
  expect(out).toMatch(/tokens per minute\t9998 of 10000 left, resets in \d+ s\n/)
  expect(out).toContain('spent this month\t$0.000003 of $2.00\n')
  expect(out).not.toContain('spent today')
  expect(cli.json(['accounts', 'show', 'watched'])).toMatchObject({
    usage: { tokens: { limit: 10_000, remaining: 9_998 }, day: null, requests_in_progress: 0 },
  })
  cli.run(['limits', 'set', 'watched-1', '--tpm', '5000'])
  expect(cli.run(['keys', 'show', 'watched-1']).out).toMatch(
    /tokens per minute\t4998 of 5000 left, resets in \d+ s\n/,
  )
})

/** A stream of minutes, of which the first piece has come; `leave` hangs up. */
async function openStream(key: string) {
  const left = new AbortController()
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...hello,
      model: 'demo/lorem',
      stream: true,
      max_tokens: 2_000,
      user: 'rate-50',
    }),
    signal: left.signal,
  })
  const reader = response.body?.getReader()
  await reader?.read()
  return { leave: () => left.abort(), id: response.headers.get('x-generation-id') ?? '' }
}

interface Usage {
  readonly requests_in_progress: number
  readonly tokens: { readonly limit: number; readonly remaining: number } | null
}
const usageOf = (account: string): Usage =>
  (cli.json(['accounts', 'show', account]) as { usage: Usage }).usage

test('clients that hang up give their places back, and their tokens count as they are charged', async () => {
  const [first, second] = await openTeam('leavers', '--concurrency', '2', '--tpm', '100000')
  for (let round = 0; round < 3; round++) {
    const streams = await Promise.all([openStream(first.key), openStream(second.key)])
    expect(await ask(first.key)).toMatchObject({
      code: 'concurrency_limit_exceeded',
      metadata: { limit_of: 'account', used: 2 },
    })
    for (const { leave } of streams) leave()
    await until(() => usageOf('leavers').requests_in_progress === 0, 'both have ended')
  }
  expect((await ask(second.key)).status).toBe(200)
  const lines = cli.json<{ prompt_tokens: number; completion_tokens: number; ended_by: string }[]>([
    ...['activity', '--account', 'leavers', '--limit', '100'],
  ])
  const charged = lines.reduce((sum, one) => sum + one.prompt_tokens + one.completion_tokens, 0)
  expect(lines.filter(({ ended_by }) => ended_by === 'client')).toHaveLength(6)
  expect(charged).toBeGreaterThan(6)
  expect(usageOf('leavers').tokens).toMatchObject({ limit: 100_000, remaining: 100_000 - charged })
})

test('what failed and what was fallen back from uses no tokens; what served does', async () => {
  const [first] = await openTeam('fallers', '--tpm', '100000')
  const flaky = (more: object) => ask(first.key, { model: 'demo/flaky', user: 'fail-500', ...more })
  for (let n = 0; n < 3; n++) {
    expect((await flaky({ allow_fallbacks: false })).status).toBe(502)
    expect((await flaky({ models: ['demo/echo'] })).status).toBe(200)
  }
  const lines = cli.json<{ prompt_tokens: number; completion_tokens: number }[]>([
    ...['activity', '--account', 'fallers', '--limit', '100'],
  ])
  const charged = lines.reduce((sum, one) => sum + one.prompt_tokens + one.completion_tokens, 0)
  expect(usageOf('fallers').tokens?.remaining).toBe(100_000 - charged)
})

test('an account that is closed, and a key that is moved, while their requests run', async () => {
  const [closing] = await openTeam('closing', '--monthly-usd', '5')
  const [moving, stays] = await openTeam('leaving', '--concurrency', '1')
  await openTeam('arriving', '--concurrency', '1', '--tpm', '100000')
  const streams = [await openStream(closing.key), await openStream(moving.key)] as const
  expect(cli.run(['accounts', 'close', 'closing', '-y'])).toMatchObject({ code: 0 })
  expect(cli.run(['accounts', 'move-key', 'leaving-1', 'arriving', '-y'])).toMatchObject({
    code: 0,
  })
  // It holds its place where it was admitted, and none where it went.
  expect((await ask(stays.key)).metadata).toMatchObject({ limit_of: 'account', used: 1 })
  expect((await ask(moving.key)).status).toBe(200)
  for (const { leave } of streams) leave()
  await until(() => usageOf('leaving').requests_in_progress === 0, 'the moved one has ended')
  await until(() => cli.run(['activity', 'show', streams[0].id]).code === 0, 'both are logged')
  for (const [account, { id }] of [
    ['closing', streams[0]],
    ['leaving', streams[1]],
  ] as const) {
    const entries = cli.json<{ generation_id: string; amount_usd: string }[]>([
      ...['ledger', '--account', account, '--kind', 'charge'],
    ])
    expect(entries.map(({ generation_id }) => generation_id)).toEqual([id])
    expect(Number(entries[0]?.amount_usd)).toBeLessThan(0)
  }
  expect((await ask(stays.key)).status).toBe(200)
  expect((await ask(moving.key)).status).toBe(200)
  expect(usageOf('arriving').requests_in_progress).toBe(0)
  expect(await ask(closing.key)).toMatchObject({ status: 401 })
  expect(cli.run(['audit', '-q'])).toEqual({ code: 0, out: '', err: '' })
})

test('a key is moved, and pays from its new account; an account is closed for good', async () => {
  const [first, second] = await openTeam('old')
  await openTeam('new', '--rpm', '1')
  expect(cli.run(['accounts', 'move-key', 'old-1', 'new', '-y']).out).toBe(
    'old-1: account old → new\n',
  )
  expect((await ask(first.key)).status).toBe(200)
  expect((await ask(first.key)).metadata).toMatchObject({ limit: 'rpm_limit', limit_of: 'account' })
  const balance = (name: string) =>
    (cli.json(['accounts', 'show', name]) as { balance_usd: string }).balance_usd
  expect([balance('old'), balance('new')]).toEqual(['5.00', '4.999997'])

  expect(cli.run(['accounts', 'close', 'old']).code).not.toBe(0)
  expect((await ask(second.key)).status).toBe(200)
  expect(cli.run(['accounts', 'close', 'old', '-y']).err).toContain('closed old; keys revoked: 1')
  expect(await ask(second.key)).toMatchObject({ status: 401, code: 'api_key_revoked' })
  expect((await ask(first.key)).code).toBe('rate_limit_exceeded')
  expect(cli.run(['keys', 'create', 'late', '--account', 'old']).err).toContain('old is closed')
  expect(cli.run(['accounts', 'close', 'default', '-y']).code).not.toBe(0)
  expect(cli.run(['audit', '-q'])).toEqual({ code: 0, out: '', err: '' })
})
