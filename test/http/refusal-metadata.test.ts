// Every refusal by a limit states the limit, its value, what is used and when it lifts; the activity log keeps the same.

import { describe, expect, onTestFinished, test } from 'vitest'
import type { Limits } from '#domain/limits.ts'
import { DEFAULT_SETTINGS } from '#domain/settings.ts'
import { furnish, handClock, hello, openApi, usd } from '#test/support/furnish.ts'
import { anAct } from '#test/support/nouns.ts'
import { script } from '#test/support/scripted-upstream.ts'

const NOON = Date.parse('2026-08-22T12:00:00Z')

async function open(balance?: string) {
  const clock = handClock(NOON)
  const deps = await furnish({ clock, ...(balance !== undefined && { balance }) })
  onTestFinished(() => deps.store.close())
  return { deps, clock, ...openApi(deps) }
}

async function refusalOf(response: Response) {
  const { error } = (await response.json()) as {
    error: { code: string; message: string; metadata?: Record<string, unknown> }
  }
  return { status: response.status, ...error }
}

type Metadata = readonly [
  limit: string,
  value: string | number,
  used: string | number,
  resetsAt: string | null,
]

const metadataOf = ([limit, limit_value, used, resets_at]: Metadata) => ({
  limit,
  limit_value,
  used,
  resets_at,
})

const TOMORROW = '2026-08-23T00:00:00Z'
/** What demo/echo costs for three words. */
const COST = '0.000009'

describe('a limit that one request has used up', () => {
  test.each<[string, Partial<Limits>, Metadata, RegExp]>([
    [
      '402 daily_spend_limit_exceeded',
      { dailySpend: usd('0.000001') },
      ['daily_spend_limit_usd', '0.000001', COST, TOMORROW],
      /^key worker has spent \$0\.000009 of its daily_spend_limit_usd/,
    ],
    [
      '402 monthly_spend_limit_exceeded',
      { monthlySpend: usd('0.000001') },
      ['monthly_spend_limit_usd', '0.000001', COST, '2026-09-01T00:00:00Z'],
      /^key worker has spent/,
    ],
    [
      '402 daily_spend_limit_exceeded',
      { endUserDailySpend: usd('0.000001') },
      ['end_user_daily_usd', '0.000001', COST, TOMORROW],
      /^this end user of key worker has spent/,
    ],
    [
      '429 rate_limit_exceeded',
      { rpm: 1 },
      ['rpm_limit', 1, 1, '2026-08-22T12:01:00Z'],
      /^key worker used 1 of 1 requests in 60 seconds/,
    ],
    [
      '429 rate_limit_exceeded',
      { rpd: 1 },
      ['rpd_limit', 1, 1, '2026-08-23T12:00:00Z'],
      /^key worker used 1 of 1 requests in 24 hours/,
    ],
    [
      '429 rate_limit_exceeded',
      { endUserRpm: 1 },
      ['end_user_rpm', 1, 1, '2026-08-22T12:01:00Z'],
      /^this end user of key worker used 1 of 1 requests in 60 seconds/,
    ],
  ])('%s', async (line, limits, metadata, message) => {
    const { deps, chat } = await open()
    const { bearer } = await deps.issue(limits)
    expect((await chat(bearer, hello({ user: 'ann' }))).status).toBe(200)
    const response = await chat(bearer, hello({ user: 'ann' }))
    const id = response.headers.get('x-generation-id') as `gen-${string}`
    const refusal = await refusalOf(response)
    expect(`${refusal.status} ${refusal.code}`).toBe(line)
    expect(refusal.metadata).toEqual(metadataOf(metadata))
    expect(refusal.message).toMatch(message)
    expect((await deps.store.activity.find(id))?.refusal).toMatchObject({
      message: refusal.message,
      metadata: refusal.metadata,
      // Three words of prompt at most, estimated by bytes, and the maximum output.
      hold: expect.any(BigInt),
    })
  })
})

test('requests in progress: the concurrency limit, and the money that they hold', async () => {
  const { deps } = await open()
  const places = await deps.issue({ concurrency: 1 })
  const money = await deps.issue({ dailySpend: usd('0.001') })
  const gate = Promise.withResolvers<void>()
  const { chat } = openApi(deps, {
    settings: { ...DEFAULT_SETTINGS, reserveWaitMs: 0 },
    upstream: script(async function* () {
      await gate.promise
      yield []
    }).upstream,
  })
  const running = [chat(places.bearer, hello()), chat(money.bearer, hello())]
  expect(await refusalOf(await chat(places.bearer, hello()))).toMatchObject({
    code: 'concurrency_limit_exceeded',
    metadata: metadataOf(['concurrency_limit', 1, 1, null]),
  })
  const reserved = await refusalOf(await chat(money.bearer, hello()))
  expect(reserved).toMatchObject({ status: 429, code: 'spend_reserved' })
  expect(reserved.metadata).toEqual({
    ...metadataOf(['daily_spend_limit_usd', '0.001', '', null]),
    used: expect.stringMatching(/^0\.20\d+$/),
    held_usd: reserved.metadata?.['used'],
    requests_in_progress: 1,
  })
  gate.resolve()
  await Promise.all(running)
})

test('an empty balance', async () => {
  const { deps, chat } = await open('0.000001')
  const { bearer } = await deps.issue()
  expect((await chat(bearer, hello())).status).toBe(200)
  expect(await refusalOf(await chat(bearer, hello()))).toMatchObject({
    status: 402,
    code: 'insufficient_balance',
    metadata: metadataOf(['balance_usd', '-0.000008', '0', null]),
  })
})

test('a long allow-list is whole in the response and shortened in the log', async () => {
  const { deps, chat } = await open()
  const masks = Array.from({ length: 100 }, (_, i) => `acme/${'x'.repeat(100)}-${i}`)
  const { bearer } = await deps.issue({ allowedModels: masks })
  const response = await chat(bearer, hello())
  const id = response.headers.get('x-generation-id') as `gen-${string}`
  const refusal = await refusalOf(response)
  expect(refusal).toMatchObject({ status: 403, code: 'model_not_allowed' })
  const whole = masks.join(', ')
  expect(refusal.metadata).toEqual(metadataOf(['allowed_models', whole, 'demo/echo', null]))
  const kept = (await deps.store.activity.find(id))?.refusal
  expect(kept?.metadata).toEqual(
    metadataOf(['allowed_models', `${whole.slice(0, 999)}…`, 'demo/echo', null]),
  )
  expect(kept?.message).toHaveLength(1_000)
  // Refused before its cost was estimated.
  expect(kept?.hold).toBeNull()
})

test.each(['revoked', 'disabled', 'expired'] as const)('a key that is %s', async (status) => {
  const { deps, clock, chat } = await open()
  const { key, bearer } = await deps.issue()
  const { keys } = deps.store
  const at = clock.now()
  if (status === 'revoked') await keys.revoke(key.id, anAct(at))
  else if (status === 'disabled') await keys.amend(key.id, { disabled: true }, anAct(at))
  else await keys.amend(key.id, { expiresAt: at }, anAct(at))
  expect(await refusalOf(await chat(bearer, hello()))).toMatchObject({
    status: 401,
    code: `api_key_${status}`,
    metadata: metadataOf(['status', 'active', status, null]),
  })
})

test('limits on the request itself', async () => {
  const { deps, chat } = await open()
  const { bearer } = await deps.issue()
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  const content = Array.from({ length: 17 }, () => image)
  const images = await chat(bearer, hello({ messages: [{ role: 'user', content }] }))
  expect(await refusalOf(images)).toMatchObject({
    code: 'too_many_images',
    metadata: metadataOf(['input_images', 16, 17, null]),
  })
  const long = ' '.repeat(32 * 1024 * 1024 + 1)
  expect(await refusalOf(await chat(bearer, long))).toMatchObject({
    status: 413,
    metadata: metadataOf(['body_bytes', 33_554_432, expect.any(Number) as never, null]),
  })
})

test('a served request has no refusal metadata', async () => {
  const { deps, chat } = await open()
  const { bearer } = await deps.issue()
  const response = await chat(bearer, hello())
  const id = response.headers.get('x-generation-id') as `gen-${string}`
  expect((await deps.store.activity.find(id))?.refusal).toBeNull()
})
