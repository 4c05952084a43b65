/** Every limit of contract §8, and an end user's caps: a limit that is reached refuses, and one that is raised or lifted lets the very next request through. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'

const cli = openCli()
let gateway: Appliance
let admin = ''

beforeAll(async () => {
  furnishCli(cli)
  gateway = await startAppliance(cli)
  admin = (await gateway.verb('keys.create', { name: 'boss', kind: 'provisioning' })).key
})
afterAll(async () => {
  await gateway?.kill()
  cli.close()
})

/** A word in at $1 and a word out at $2 a million. */
const CHARGE = '0.000003'
const hello = { model: 'demo/echo', user: 'ann', messages: [{ role: 'user', content: 'hi' }] }

interface Row {
  /** What is set, raised, and how it is lifted, by its field and by its flags. */
  readonly field: string
  readonly low: unknown
  readonly high: unknown
  readonly flags: Readonly<Record<'low' | 'high' | 'none', readonly string[]>>
  readonly refusal: string
  /** Uses up what there is; answers what ends it. */
  useUp(key: string): Promise<() => Promise<unknown>>
}

const flags = (name: string, low: string, high: string) => ({
  low: [name, low],
  high: [name, high],
  none: [name, 'none'],
})

/** One answer, whole and paid for. */
async function once(key: string): Promise<() => Promise<void>> {
  expect((await gateway.chat(key, hello)).status).toBe(200)
  return async () => {}
}

/** One answer that goes on. */
async function runs(key: string): Promise<() => Promise<void>> {
  const running = await gateway.chat(key, {
    ...hello,
    model: 'demo/lorem',
    stream: true,
    user: 'rate-1',
  })
  expect(running.status).toBe(200)
  return async () => {
    await running.body?.cancel()
    await until(async () => (await gateway.verb('status', {})).in_flight === 0, 'it has ended')
  }
}

const nothing = async () => async () => {}

const ROWS: readonly Row[] = [
  {
    field: 'rpm_limit',
    low: 1,
    high: 1_000,
    flags: flags('--rpm', '1', '1000'),
    refusal: '429 rate_limit_exceeded',
    useUp: once,
  },
  {
    field: 'tpm_limit',
    low: 1,
    high: 100_000,
    flags: flags('--tpm', '1', '100000'),
    refusal: '429 rate_limit_exceeded',
    useUp: once,
  },
  {
    field: 'rpd_limit',
    low: 1,
    high: 1_000,
    flags: flags('--rpd', '1', '1000'),
    refusal: '429 rate_limit_exceeded',
    useUp: once,
  },
  {
    field: 'concurrency_limit',
    low: 1,
    high: 9,
    flags: flags('--concurrency', '1', '9'),
    refusal: '429 concurrency_limit_exceeded',
    useUp: runs,
  },
  {
    field: 'daily_spend_limit_usd',
    low: CHARGE,
    high: '1',
    flags: flags('--daily-usd', CHARGE, '1'),
    refusal: '402 daily_spend_limit_exceeded',
    useUp: once,
  },
  {
    field: 'monthly_spend_limit_usd',
    low: CHARGE,
    high: '1',
    flags: flags('--monthly-usd', CHARGE, '1'),
    refusal: '402 monthly_spend_limit_exceeded',
    useUp: once,
  },
  {
    field: 'end_user_rpm',
    low: 1,
    high: 1_000,
    flags: flags('--end-user-rpm', '1', '1000'),
    refusal: '429 rate_limit_exceeded',
    useUp: once,
  },
  {
    field: 'end_user_daily_usd',
    low: CHARGE,
    high: '1',
    flags: flags('--end-user-daily-usd', CHARGE, '1'),
    refusal: '402 daily_spend_limit_exceeded',
    useUp: once,
  },
  {
    field: 'allowed_models',
    low: ['demo/lorem'],
    high: ['demo/*'],
    flags: { low: ['--allow', 'demo/lorem'], high: ['--allow', 'demo/*'], none: ['--allow-all'] },
    refusal: '403 model_not_allowed',
    useUp: nothing,
  },
]

async function ask(key: string): Promise<string> {
  const response = await gateway.chat(key, hello)
  const { error } = (await response.json()) as { error?: { code: string } }
  return error ? `${response.status} ${error.code}` : `${response.status}`
}

async function amend(id: string, fields: object): Promise<void> {
  const { status } = await fetch(`${gateway.url}/v1/keys/${id}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
    body: JSON.stringify(fields),
  })
  expect(status).toBe(200)
}

describe.each(ROWS)('$field', ({ field, low, high, flags, refusal, useUp }) => {
  const CHANGES = {
    'by PATCH': (id: string, to: 'low' | 'high' | 'none') =>
      amend(id, { [field]: { low, high, none: null }[to] }),
    'by the operator': async (id: string, to: 'low' | 'high' | 'none') =>
      expect(cli.run(['limits', 'set', id, ...flags[to]])).toMatchObject({ code: 0 }),
  }

  test.each(Object.entries(CHANGES))('changed %s, from the next request', async (_, change) => {
    const { key, id } = await gateway.verb('keys.create', { name: 'held', [field]: low })
    const end = await useUp(key)
    try {
      expect(await ask(key)).toBe(refusal)
      await change(id, 'high')
      expect(await ask(key)).toBe('200')
      await change(id, 'low')
      expect(await ask(key)).toBe(refusal)
      await change(id, 'none')
      expect(await ask(key)).toBe('200')
      expect(await ask(key)).toBe('200')
    } finally {
      await end()
    }
  })
})

test('concurrency lifts by itself when the request that runs has ended', async () => {
  const { key } = await gateway.verb('keys.create', { name: 'single', concurrency_limit: 1 })
  const end = await runs(key)
  expect(await ask(key)).toBe('429 concurrency_limit_exceeded')
  await end()
  expect(await ask(key)).toBe('200')
})

test('the catalogue is cut to the allow-list, and grows with it', async () => {
  const { key, id } = await gateway.verb('keys.create', {
    name: 'cut',
    allowed_models: ['demo/lorem', 'demo/image', 'none/*'],
  })
  const models = async () => {
    const answer = await gateway.client(key).models.list()
    return answer.data.map(({ id: model }) => model).toSorted()
  }
  expect(await models()).toEqual(['demo/image', 'demo/lorem'])
  await amend(id, { allowed_models: ['demo/*'] })
  expect(await models()).toEqual(['demo/echo', 'demo/flaky', 'demo/image', 'demo/lorem'])
  await amend(id, { allowed_models: [] })
  expect(await models()).toEqual([])
})

test('a key without limits works as long as the balance suffices, and again after a top-up', async () => {
  await gateway.verb('accounts.create', { name: 'lean' })
  const { key } = await gateway.verb('keys.create', { name: 'free', account: 'lean' })
  const topUp = (amount: string) =>
    expect(cli.run(['balance', 'top-up', amount, '--account', 'lean'])).toMatchObject({ code: 0 })
  expect(await ask(key)).toBe('402 insufficient_balance')
  topUp('0.000006')
  expect([await ask(key), await ask(key)]).toEqual(['200', '200'])
  expect(await ask(key)).toBe('402 insufficient_balance')
  topUp('1')
  expect(await ask(key)).toBe('200')
})
