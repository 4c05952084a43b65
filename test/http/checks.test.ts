// The order of checks (contract §2), the one error body (contract §3), and the rate headers on every refusal (contract §4).

import { describe, expect, test } from 'vitest'
import { instant } from '#domain/clock.ts'
import { newSecret } from '#domain/secret.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { furnish, handClock, hello, openApi, usd } from '#test/support/furnish.ts'
import { anAct } from '#test/support/nouns.ts'
import { never, script, text, until } from '#test/support/scripted-upstream.ts'

const NOON = Date.UTC(2026, 7, 22, 12)

async function open(balance = '100') {
  const clock = handClock(NOON)
  const deps = await furnish({ clock, balance })
  return { clock, deps, ...openApi(deps) }
}

interface ErrorAnswer {
  readonly error: {
    message: string
    type: string
    param: string | null
    code: string
    metadata?: Record<string, unknown>
  }
  readonly request_id: string
}

/** Checks what every error response has in common, and returns its parts. */
async function refusal(response: Response) {
  expect(response.headers.get('content-type')).toBe('application/json')
  const body = (await response.json()) as ErrorAnswer
  expect(body.error.message).not.toBe('')
  expect(typeof body.error.code).toBe('string')
  expect(Object.keys(body.error)).toEqual(
    expect.arrayContaining(['message', 'type', 'param', 'code']),
  )
  expect(body.request_id).toBe(response.headers.get('x-request-id'))
  return { status: response.status, ...body.error, headers: response.headers }
}

const BAD_BODY = '{'
const BAD_MODEL = hello({ model: 'nobody/none' })

test.each([
  '/v1/chat/completions',
  '/v1//chat/completions',
  '/v1/messages',
  '/v1/messages/count_tokens',
])('%s: while a provider is asked the connection may be idle', async (path) => {
  const { deps, app } = await open()
  const { bearer } = await deps.issue()
  const seconds: number[] = []
  const headers = { 'Content-Type': 'application/json', ...bearer }
  const body = JSON.stringify(hello({ max_tokens: 10 }))
  const request = new Request(`http://gateway.test${path}`, { method: 'POST', headers, body })
  const response = await app.fetch(request, {
    timeout: (_: Request, set: number) => seconds.push(set),
  })
  await response.text()
  expect([response.status, ...seconds]).toEqual([200, 0, 120])
})

test('the refusal of a revoked key carries the rate headers', async () => {
  const { deps, chat, clock } = await open()
  const { key, bearer } = await deps.issue({ rpm: 5 })
  await (await chat(bearer, hello())).text()
  await deps.store.keys.revoke(key.id, anAct(clock.now()))
  const { code, headers } = await refusal(await chat(bearer, hello()))
  expect(code).toBe('api_key_revoked')
  expect(headers.get('x-ratelimit-limit-minute')).toBe('5')
  expect(headers.get('x-ratelimit-remaining-minute')).toBe('4')
  expect(headers.get('x-ratelimit-reset-minute')).toBe('60')
})

describe('the first failing check decides', () => {
  test('1. the secret, before the body is read', async () => {
    const { chat } = await open()
    expect(await refusal(await chat({}, BAD_BODY))).toMatchObject({
      status: 401,
      code: 'missing_api_key',
    })
  })

  test('2. the kind of key, before the body is read', async () => {
    const { chat, deps } = await open()
    const { bearer } = await deps.issue({}, 'provisioning')
    expect(await refusal(await chat(bearer, BAD_BODY))).toMatchObject({
      status: 403,
      type: 'permission_error',
      code: 'provisioning_key_not_allowed',
    })
  })

  test('3. the body, before the allow-list', async () => {
    const { chat, deps } = await open()
    const { bearer } = await deps.issue({ allowedModels: ['other/*'] })
    expect(await refusal(await chat(bearer, BAD_BODY))).toMatchObject({
      status: 400,
      code: 'invalid_json',
    })
    expect(await refusal(await chat(bearer, hello({ messages: [] })))).toMatchObject({
      status: 400,
      code: 'invalid_request',
      param: 'messages',
    })
  })

  test('4. the allow-list, before the catalogue', async () => {
    const { chat, deps } = await open()
    const { bearer } = await deps.issue({ allowedModels: ['other/*'] })
    expect(await refusal(await chat(bearer, BAD_MODEL))).toMatchObject({
      status: 403,
      code: 'model_not_allowed',
      param: 'model',
    })
  })

  test('5. the catalogue, before the modality rules', async () => {
    const { chat, deps } = await open()
    const { bearer } = await deps.issue()
    const body = { ...BAD_MODEL, stream: true, modalities: ['image'] }
    expect(await refusal(await chat(bearer, body))).toMatchObject({
      status: 404,
      type: 'not_found_error',
      code: 'model_not_found',
    })
  })

  test('6. the modality rules, before money', async () => {
    const { chat, deps } = await open('0.000001')
    const { bearer } = await deps.issue({ dailySpend: usd('0') })
    const body = hello({ model: 'demo/image', stream: true, modalities: ['image'] })
    expect(await refusal(await chat(bearer, body))).toMatchObject({
      status: 400,
      code: 'image_streaming_not_supported',
      param: 'stream',
    })
  })

  test('7. money, before the rate windows', async () => {
    const { chat, deps } = await open()
    const { bearer } = await deps.issue({ rpm: 1, dailySpend: usd('0.000001') })
    expect((await chat(bearer, hello())).status).toBe(200)
    const refused = await refusal(await chat(bearer, hello()))
    expect(refused).toMatchObject({
      status: 402,
      type: 'insufficient_quota',
      code: 'daily_spend_limit_exceeded',
      metadata: { limit: 'daily_spend_limit_usd', resets_at: '2026-08-23T00:00:00Z' },
    })
    expect(refused.headers.get('retry-after')).toBeNull()
    expect(refused.headers.get('x-should-retry')).toBe('false')
  })

  test('8. the rate windows', async () => {
    const { chat, deps, clock } = await open()
    const { bearer } = await deps.issue({ rpm: 1 })
    await chat(bearer, hello())
    clock.advance(14_500)
    const refused = await refusal(await chat(bearer, hello()))
    expect(refused).toMatchObject({
      status: 429,
      type: 'rate_limit_error',
      code: 'rate_limit_exceeded',
      metadata: { limit: 'rpm_limit', limit_value: 1, used: 1 },
    })
    expect(refused.headers.get('retry-after')).toBe('46')
    expect(refused.headers.get('x-should-retry')).toBeNull()
    expect(refused.headers.get('x-ratelimit-remaining-minute')).toBe('0')
  })

  test('a refused request uses no slot', async () => {
    const { chat, deps } = await open()
    const { bearer, key } = await deps.issue({ rpm: 5 })
    for (const body of [BAD_BODY, BAD_MODEL, hello({ stream: 'yes' })]) await chat(bearer, body)
    expect((await deps.store.admissions.usage(key.id, instant(NOON))).requestsMinute).toBe(0)
  })
})

describe('retry advice to the client', () => {
  test('a wait of a day is marked as not worth retrying', async () => {
    const { chat, deps } = await open()
    const { bearer } = await deps.issue({ rpd: 1 })
    await chat(bearer, hello())
    const { headers, status } = await refusal(await chat(bearer, hello()))
    expect([status, headers.get('retry-after'), headers.get('x-should-retry')]).toEqual([
      429,
      '86400',
      'false',
    ])
  })

  test('a full concurrency limit is worth retrying soon', async () => {
    const deps = await furnish()
    const { bearer } = await deps.issue({ concurrency: 1 })
    const played = script(async function* (call) {
      yield [text('x')]
      await until(never, call)
    })
    const { chat } = openApi(deps, { upstream: played.upstream })
    const busy = await chat(bearer, hello({ stream: true }))
    const { headers, code } = await refusal(await chat(bearer, hello()))
    expect([code, headers.get('retry-after'), headers.get('x-should-retry')]).toEqual([
      'concurrency_limit_exceeded',
      '1',
      null,
    ])
    await busy.body?.cancel()
  })

  test.each([
    ['failed', 502],
    ['overloaded', 503],
    ['timeout', 504],
  ] as const)(
    'an image request that %s is marked as not to be retried, since a retry is charged again',
    async (kind, status) => {
      const deps = await furnish()
      const { bearer } = await deps.issue()
      const played = script(
        async function* () {},
        async () => {
          throw new UpstreamFailure(kind, 'no')
        },
      )
      const { chat } = openApi(deps, { upstream: played.upstream })
      const image = await refusal(
        await chat(bearer, hello({ model: 'demo/image', modalities: ['image'] })),
      )
      expect([image.status, image.headers.get('x-should-retry')]).toEqual([status, 'false'])
      const words = await refusal(await chat(bearer, hello()))
      expect([words.status, words.headers.get('x-should-retry')]).toEqual([status, null])
    },
  )

  test('a gateway that is shutting down asks for a retry', async () => {
    const deps = await furnish()
    const { bearer } = await deps.issue()
    const { chat, get } = openApi(deps, { leaving: { isUnready: true, isDraining: true } })
    const { headers, status, code } = await refusal(await chat(bearer, hello()))
    expect([status, code, headers.get('retry-after'), headers.get('x-should-retry')]).toEqual([
      503,
      'shutting_down',
      '2',
      'true',
    ])
    expect((await get('/v1/models', bearer)).status).toBe(200)
  })
})

describe('the secret', () => {
  const anywhere = (secret: string): readonly [string, Record<string, string>, string][] => [
    ['x-api-key', { 'x-api-key': secret }, ''],
    ['a cookie', { Cookie: `api_key=${secret}` }, ''],
    ['the query', {}, `?api_key=${secret}&key=${secret}`],
    ['basic authentication', { Authorization: `Basic ${btoa(`user:${secret}`)}` }, ''],
    ['no scheme', { Authorization: secret }, ''],
    ['an empty bearer', { Authorization: 'Bearer ' }, ''],
  ]

  test('T5: is read from Authorization: Bearer and from nowhere else', async () => {
    const { deps, get } = await open()
    const { bearer } = await deps.issue()
    for (const [where, headers, query] of anywhere(bearer['Authorization']!.slice(7))) {
      const refused = await refusal(await get(`/v1/key${query}`, headers))
      expect([where, refused.status, refused.code]).toEqual([where, 401, 'missing_api_key'])
      expect(refused.headers.get('www-authenticate')).toBe('Bearer')
    }
  })

  test('T2: is refused when truncated, extended, doubled, altered or never issued', async () => {
    const { deps, get } = await open()
    const { bearer } = await deps.issue()
    const good = bearer['Authorization']!
    for (const authorization of [
      good.slice(0, -1),
      `${good}a`,
      `${good}, ${good}`,
      `${good} ${good}`,
      good.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
      `Bearer ${newSecret()}`,
      "Bearer ' OR 1=1 --",
      `Bearer ${'x'.repeat(10_000)}`,
    ]) {
      const refused = await refusal(await get('/v1/key', { Authorization: authorization }))
      expect([authorization, refused.status, refused.code]).toEqual([
        authorization,
        401,
        'invalid_api_key',
      ])
    }
    expect((await get('/v1/key', { Authorization: good.replace('Bearer', 'bearer') })).status).toBe(
      200,
    )
  })

  test('is checked anew on every request', async () => {
    const { deps, get, clock } = await open()
    const { bearer, key } = await deps.issue()
    const status = async () => {
      const response = await get('/v1/key', bearer)
      return response.status === 200 ? 200 : (await refusal(response)).code
    }
    const { keys } = deps.store
    expect(await status()).toBe(200)
    await keys.amend(key.id, { disabled: true }, anAct(clock.now()))
    expect(await status()).toBe('api_key_disabled')
    await keys.amend(
      key.id,
      { disabled: false, expiresAt: instant(NOON + 1000) },
      anAct(clock.now()),
    )
    expect(await status()).toBe(200)
    clock.advance(1000)
    expect(await status()).toBe('api_key_expired')
    await keys.revoke(key.id, anAct(clock.now()))
    expect(await status()).toBe('api_key_revoked')
  })
})

describe('every response', () => {
  test('to a known key carries its rate windows, refusals included', async () => {
    const { deps, chat, get } = await open()
    const { bearer } = await deps.issue({ rpm: 7, rpd: 9 })
    const answers = [
      await chat(bearer, hello()),
      await chat(bearer, BAD_BODY),
      await chat(bearer, BAD_MODEL),
      await chat(bearer, hello({ user: 'x'.repeat(257) })),
      await get('/v1/models', bearer),
      await get('/v1/models/nobody/none', bearer),
      await get('/v1/key', bearer),
    ]
    for (const { headers } of answers) {
      expect(headers.get('x-ratelimit-limit-minute')).toBe('7')
      expect(headers.get('x-ratelimit-remaining-minute')).toBe('6')
      expect(headers.get('x-ratelimit-reset-minute')).toBe('60')
      expect(headers.get('x-ratelimit-limit-day')).toBe('9')
      expect(headers.get('x-ratelimit-remaining-day')).toBe('8')
      expect(headers.get('x-ratelimit-reset-day')).toBe('86400')
    }
  })

  test('to a key without rate limits has no rate headers', async () => {
    const { deps, chat } = await open()
    const { bearer } = await deps.issue()
    const { headers } = await chat(bearer, hello())
    expect([...headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual([])
  })

  test('has a request id: the client’s own where it is safe', async () => {
    const { get } = await open()
    const idOf = async (id: string) =>
      (await get('/healthz', { 'X-Request-Id': id })).headers.get('x-request-id')
    expect(await idOf('a.B:c_d-1')).toBe('a.B:c_d-1')
    expect(await idOf('x'.repeat(128))).toBe('x'.repeat(128))
    expect(await idOf(`if-${'a'.repeat(49)}`)).toBe(`if-${'a'.repeat(49)}`)
    const keys = [newSecret(), `trace:${newSecret()}-1`]
    for (const id of ['', 'x'.repeat(129), 'a b', 'é', '<script>', 'a,b', ...keys]) {
      expect(await idOf(id)).toMatch(/^req_[0-9a-z]{26}$/)
    }
  })

  test('to an unknown path or a wrong method has the same JSON error body', async () => {
    const { app, get } = await open()
    expect(await refusal(await get('/v2/models'))).toMatchObject({
      status: 404,
      code: 'route_not_found',
    })
    expect(await refusal(await get('/v1'))).toMatchObject({ status: 404, code: 'route_not_found' })
    for (const [method, path, allow] of [
      ['GET', '/v1/chat/completions', 'POST, OPTIONS'],
      ['DELETE', '/api/v1/chat/completions', 'POST, OPTIONS'],
      ['POST', '/v1/models', 'GET, HEAD, OPTIONS'],
      ['PUT', '/v1/models/demo/echo', 'GET, HEAD, OPTIONS'],
      ['PATCH', '/v1/key', 'GET, HEAD, OPTIONS'],
    ] as const) {
      const refused = await refusal(await app.request(`http://gateway.test${path}`, { method }))
      expect([path, refused.status, refused.code, refused.headers.get('allow')]).toEqual([
        path,
        405,
        'method_not_allowed',
        allow,
      ])
    }
  })

  test('to an unknown path or a wrong method carries a known key’s rate headers, and uses no slot', async () => {
    const { app, deps, clock } = await open()
    const { key, bearer } = await deps.issue({ rpm: 5 })
    const ask = async (method: string, path: string, headers: Readonly<Record<string, string>>) => {
      const url = `http://gateway.test${path}`
      const {
        status,
        code,
        headers: told,
      } = await refusal(await app.request(url, { method, headers }))
      return [status, code, told.get('x-ratelimit-remaining-minute')]
    }
    const unknown = { Authorization: `Bearer ${newSecret()}` }
    for (let time = 0; time < 2; time++) {
      expect(await ask('GET', '/v1/nothing', bearer)).toEqual([404, 'route_not_found', '5'])
      expect(await ask('PUT', '/v1/key', bearer)).toEqual([405, 'method_not_allowed', '5'])
    }
    for (const headers of [unknown, { Authorization: 'Bearer x' }, {}]) {
      expect(await ask('GET', '/v1/nothing', headers)).toEqual([404, 'route_not_found', null])
      expect(await ask('PUT', '/v1/key', headers)).toEqual([405, 'method_not_allowed', null])
    }
    await deps.store.keys.revoke(key.id, anAct(clock.now()))
    expect(await ask('GET', '/v1/nothing', bearer)).toEqual([404, 'route_not_found', '5'])
  })

  test('to an unknown path is the same when the key store cannot be read', async () => {
    const { deps } = await open()
    const { bearer } = await deps.issue({ rpm: 5 })
    const findBySecret = () => Promise.reject(new Error('disk I/O error'))
    const keys = { ...deps.store.keys, findBySecret }
    const { get } = openApi({ ...deps, store: { ...deps.store, keys } })
    expect(await refusal(await get('/v1/nothing', bearer))).toMatchObject({ status: 404 })
  })

  test('to an internal fault hides the details from the client and logs them for the operator', async () => {
    const deps = await furnish()
    const { bearer } = await deps.issue()
    const lines: unknown[] = []
    const { chat } = openApi(deps, {
      log: (line) => lines.push(line),
      upstreamFor: () => {
        throw new Error('secret detail sk-abcdefghij at /etc/passwd')
      },
    })
    const refused = await refusal(await chat(bearer, hello()))
    expect(refused).toMatchObject({ status: 500, type: 'api_error', code: 'internal_error' })
    expect(JSON.stringify(refused)).not.toMatch(/secret detail|passwd/)
    expect(lines).toHaveLength(1)
    const line = JSON.stringify(lines[0])
    expect(line).toContain('secret detail')
    expect(line).not.toContain('sk-abcdefghij')
    expect(line).not.toContain(bearer['Authorization'])
  })
})
