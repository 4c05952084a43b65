// What holds on every surface, whatever it serves: who calls, what is refused in which words, what is paid once.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openHolds, readDatabase, until } from '#test/support/appliance.ts'
import { dial, head } from '#test/support/raw-client.ts'
import { tell } from './any-family.ts'
import {
  COUNTING,
  type EverySurface,
  openEverySurface,
  refusalOf,
  SURFACES,
  type SurfaceCase,
  TRANSLATED,
} from './every-surface.ts'

let setup: EverySurface
beforeAll(async () => {
  setup = await openEverySurface()
})
afterAll(() => setup?.close())
beforeEach(() => setup.answer())

const WALKED = [...SURFACES, ...TRANSLATED]
const ALL = [...WALKED, COUNTING]
const isMessages = ({ path }: SurfaceCase): boolean => path.startsWith('/v1/messages')

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

async function expectRefusal(one: SurfaceCase, answer: Response, status: number, code: string) {
  const refusal = await refusalOf(answer)
  expect(refusal).toMatchObject({ isMessages: isMessages(one), status, code })
  expect(refusal.request_id).toBe(answer.headers.get('x-request-id'))
  expect(answer.headers.get('request-id')).toBe(isMessages(one) ? refusal.request_id : null)
  return refusal
}

describe.each(ALL)('$surface to $body.model', (one) => {
  const { path } = one
  const post = (headers: Readonly<Record<string, string>>, at = path) =>
    fetch(setup.url + at, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(one.body),
    })

  test('is under both prefixes, whatever the query', async () => {
    for (const at of [path, `/api${path}`, `${path}?beta=true`, `${path}/?a=/v1/messages`]) {
      const answer = await post(bearer(setup.key), at)
      expect([at, answer.status]).toEqual([at, 200])
      await answer.text()
    }
  })

  test('takes a bearer, and x-api-key only for Messages and only without one', async () => {
    const { key } = setup
    const status = async (headers: Readonly<Record<string, string>>, at = path) => {
      const answer = await post(headers, at)
      if (answer.status === 401) {
        expect(answer.headers.get('www-authenticate')).toBe('Bearer')
        const { type, isMessages: inShape } = await refusalOf(answer)
        expect([type, inShape]).toEqual(['authentication_error', isMessages(one)])
      } else await answer.text()
      return answer.status
    }
    const other = 'sk-ant-of-another-service'
    expect(await status({ authorization: `bearer  ${key}` })).toBe(200)
    expect(await status({ 'x-api-key': key })).toBe(isMessages(one) ? 200 : 401)
    expect(await status({ ...bearer(key), 'x-api-key': other })).toBe(200)
    for (const wrong of [
      `Bearer ${other}`,
      `Basic ${key}`,
      'Bearer',
      key,
      `Bearer ${key}, Bearer ${key}`,
    ]) {
      expect(await status({ authorization: wrong, 'x-api-key': key })).toBe(401)
    }
    expect(await status({ cookie: `key=${key}` })).toBe(401)
    expect(await status({}, `${path}?key=${key}&api_key=${key}`)).toBe(401)
  })

  test('answers no other method', async () => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const answer = await fetch(setup.url + path, { method, headers: bearer(setup.key) })
      expect(answer.headers.get('allow')).toBe('POST, OPTIONS')
      await expectRefusal(one, answer, 405, 'method_not_allowed')
    }
  })

  test('takes JSON as it is: 415 for what is compressed or something else', async () => {
    for (const headers of [{ 'content-encoding': 'gzip' }, { 'content-type': 'text/plain' }]) {
      const answer = await setup.ask(one, {}, headers)
      const { type } = await expectRefusal(one, answer, 415, 'unsupported_media_type')
      expect(type).toBe('invalid_request_error')
    }
    expect((await setup.ask(one, {}, { 'content-encoding': 'identity' })).status).toBe(200)
  })

  test('takes 32 MiB, and says so of more', async () => {
    const client = dial(setup.url)
    client.send(head(path, bearer(setup.key), 32 * 1024 * 1024 + 1))
    await until(() => client.received.includes('limit_value'), 'it is refused')
    client.hangUp()
    expect(client.received).toMatch(/^HTTP\/1\.1 413 /)
    expect(client.received).toContain('33554432')
    expect(client.received.includes('"type":"error"')).toBe(isMessages(one))
  })

  test('says what is wrong with a body, in its own envelope', async () => {
    for (const text of ['', '{', '[]', '"x"', '{"model":7}', '{}']) {
      const answer = await setup.ask(one, {}, {}, { body: text })
      const { status, isMessages: inShape } = await refusalOf(answer)
      expect([text, status, inShape]).toEqual([text, 400, isMessages(one)])
    }
  })

  test('knows no model but those that the key may call', async () => {
    const unknown = await setup.ask(one, { model: 'acme/none' })
    await expectRefusal(one, unknown, 404, 'model_not_found')
    const narrow = bearer(await setup.issue({ allowed_models: ['demo/*'] }))
    for (const model of [one.body['model'], 'acme/none', 'bare-name']) {
      const { message } = await expectRefusal(
        one,
        await setup.ask(one, { model }, narrow),
        403,
        'model_not_allowed',
      )
      expect(message.replaceAll(String(model), 'X')).toBe(
        'key k may not call X; it is allowed: demo/*' +
          (String(model).includes('/') ? '' : '; the id of a model is <provider>/<model>'),
      )
    }
  })

  test("is the operator's fault where the provider rejects the operator's account", async () => {
    for (const status of [401, 402, 403]) {
      setup.answer((response) => {
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end('{"error":{"type":"x","message":"key sk-own is not allowed"}}')
      })
      const answer = await setup.ask(one, { allow_fallbacks: true })
      if (one === COUNTING) {
        // An estimate is better than an error.
        expect(answer.status).toBe(200)
        continue
      }
      expect(answer.headers.get('www-authenticate')).toBeNull()
      const { message } = await expectRefusal(one, answer, 502, 'upstream_error')
      expect(message).not.toContain('sk-own')
    }
  })

  test("passes on the provider's refusal of the request in full", async () => {
    for (const status of [400, 404, 413, 422]) {
      setup.answer((response) => {
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(
          '{"type":"error","error":{"type":"invalid_request_error","message":"the 7th word is wrong"}}',
        )
      })
      const answer = await setup.ask(one)
      if (one === COUNTING && status === 404) continue
      const { message, metadata } = await expectRefusal(one, answer, 400, 'invalid_request')
      expect(message).toContain('the 7th word is wrong')
      expect(metadata['provider']).toMatch(/^(?:openai|anthropic|cohere|wire|google)$/)
    }
  })
})

describe.each(WALKED)('$surface to $body.model', (one) => {
  test('waits as long as the provider says, and no library for longer than a minute', async () => {
    for (const [seconds, advice] of [
      [7, null],
      [61, 'false'],
    ] as const) {
      setup.answer((response) => {
        response.writeHead(429, { 'retry-after': String(seconds) })
        response.end('{"error":{"message":"slow down"}}')
      })
      const answer = await setup.ask(one)
      const status = isMessages(one) ? 529 : 503
      const { type } = await expectRefusal(one, answer, status, 'upstream_overloaded')
      expect(type).toBe(isMessages(one) ? 'overloaded_error' : 'api_error')
      expect(answer.headers.get('retry-after')).toBe(String(seconds))
      expect(answer.headers.get('x-should-retry')).toBe(advice)
    }
    setup.answer()
  })

  test('has our rate headers, and none of the provider', async () => {
    setup.answer((response, asked) => {
      response.setHeader('x-ratelimit-remaining-requests', '7')
      response.setHeader('anthropic-ratelimit-requests-remaining', '7')
      return tell(response, asked)
    })
    const limited = bearer(await setup.issue({ rpm_limit: 2, rpd_limit: 1_000 }))
    const first = await setup.ask(one, {}, limited)
    expect(first.status).toBe(200)
    expect(first.headers.get('x-ratelimit-remaining-minute')).toBe('1')
    expect(first.headers.get('x-ratelimit-limit-day')).toBe('1000')
    expect([...first.headers.keys()].filter((name) => /ratelimit/.test(name)).length).toBe(6)
    const bad = await setup.ask(one, { model: 7 }, limited)
    expect([bad.status, bad.headers.get('x-ratelimit-remaining-minute')]).toEqual([400, '1'])
    await (await setup.ask(one, {}, limited)).text()
    const third = await setup.ask(one, {}, limited)
    const { type } = await expectRefusal(one, third, 429, 'rate_limit_exceeded')
    expect(type).toBe('rate_limit_error')
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test('is refused at a spent ceiling, for good', async () => {
    const poor = bearer(await setup.issue({ daily_spend_limit_usd: '0.000001' }))
    await (await setup.ask(one, {}, poor)).text()
    const answer = await setup.ask(one, {}, poor)
    const { type } = await expectRefusal(one, answer, 402, 'daily_spend_limit_exceeded')
    expect(type).toBe(isMessages(one) ? 'billing_error' : 'insufficient_quota')
    expect(answer.headers.get('x-should-retry')).toBe('false')
    expect(answer.headers.get('retry-after')).toBeNull()
    // Counting works on.
    const counted = await setup.ask(COUNTING, {}, poor)
    expect(counted.status).toBe(200)
  })

  test('is quoted without being asked', async () => {
    const asked = setup.seen.length
    const answer = await setup.ask(one, {}, { 'x-gateway-dry-run': 'true' })
    expect(await answer.json()).toMatchObject({
      object: 'quote',
      admitted: true,
      model: one.body['model'],
    })
    expect(setup.seen.length).toBe(asked)
  })

  test.each([false, true])('is repeated by Idempotency-Key, stream: %j', async (stream) => {
    if (stream && !one.streams) return
    const more = one.streams ? { stream } : {}
    const name = { 'idempotency-key': `${one.surface}-${one.body['model']}-${stream}` }
    const asked = setup.seen.length
    const first = await setup.ask(one, more, name)
    expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([200, null])
    const text = await first.text()
    const again = await setup.ask(one, more, name)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'))
    expect(again.headers.get('x-generation-id')).toBe(first.headers.get('x-generation-id'))
    expect(await again.text()).toBe(text)
    expect(setup.seen.length).toBe(asked + 1)
    const other = await setup.ask(one, { ...more, extra: 1 }, name)
    await expectRefusal(one, other, 409, 'idempotency_conflict')
    // The path is part of what is repeated.
    const elsewhere = SURFACES.find(({ path }) => path !== one.path) as SurfaceCase
    const body = JSON.stringify({ ...elsewhere.body, ...one.body, ...more })
    await (
      await setup.ask(
        one,
        {},
        { 'idempotency-key': `${one.surface}-${one.body['model']}-${stream}-2` },
        { body },
      )
    ).text()
    const moved = await setup.ask(
      elsewhere,
      {},
      { 'idempotency-key': `${one.surface}-${one.body['model']}-${stream}-2` },
      { body },
    )
    await expectRefusal(elsewhere, moved, 409, 'idempotency_conflict')
  })

  test('knows the end user, and holds it to its limits', async () => {
    const [field, inner] = one.endUser.split('.') as [string, string?]
    const of = (name: string) => ({ [field]: inner === undefined ? name : { [inner]: name } })
    const key = bearer(await setup.issue({ end_user_rpm: 1 }))
    const first = await setup.ask(one, of('ann'), key)
    expect(first.status).toBe(200)
    await first.text()
    await expectRefusal(one, await setup.ask(one, of('ann'), key), 429, 'rate_limit_exceeded')
    expect((await setup.ask(one, of('bob'), key)).status).toBe(200)
    const id = first.headers.get('x-generation-id') ?? ''
    await until(() => lineOf(id) !== undefined, 'it is logged')
    expect(lineOf(id)).toMatchObject({ end_user: 'ann', surface: one.surface })
  })

  test('whose client hangs up is paid for once, and its provider let go', async () => {
    let isLet = false
    setup.answer((response) => {
      response.on('close', () => {
        isLet = true
      })
    })
    const stop = new AbortController()
    const asked = setup.seen.length
    const answer = setup.ask(one, {}, {}, { signal: stop.signal })
    answer.catch(() => {})
    await until(() => setup.seen.length > asked, 'it is asked')
    stop.abort()
    await until(() => isLet, 'the provider is let go', 1_000)
    const read = (): Line | undefined =>
      readDatabase<Line>(setup.cli, 'SELECT * FROM activity ORDER BY generation_id DESC LIMIT 1')[0]
    await until(() => read()?.ended_by === 'client', 'it is logged')
    const last = read()
    expect(last).toMatchObject({
      surface: one.surface,
      ended_by: 'client',
      usage_source: 'estimated',
    })
    expect(last?.cost_nanos).toBeGreaterThan(0)
    await until(() => openHolds(setup.cli) === 0, 'nothing is held')
  })
})

test('a bare name of several providers is the model of the family that the client speaks', async () => {
  for (const one of ALL.filter(({ body }) => /\/m$/.test(String(body['model'])))) {
    const answer = await setup.ask(one, { model: 'm' })
    expect(answer.status).toBe(200)
    await answer.text()
    const family = isMessages(one) ? 'anthropic' : 'openai'
    if (one !== COUNTING) expect(answer.headers.get('x-gateway-model')).toBe(`${family}/m`)
  }
  for (const [headers, id] of [
    [{}, 'openai/m'],
    [{ 'anthropic-version': '2023-06-01' }, 'anthropic/m'],
  ] as const) {
    const found = await fetch(`${setup.url}/v1/models/m`, {
      headers: { ...bearer(setup.key), ...headers },
    })
    expect(await found.json()).toMatchObject({ id })
  }
  const elsewhere = bearer(await setup.issue({ allowed_models: ['openai/*'] }))
  const [, messages] = SURFACES as readonly [SurfaceCase, SurfaceCase]
  const answer = await setup.ask(messages, { model: 'm' }, elsewhere)
  // Among those that its key may call, it is the only one.
  expect(answer.headers.get('x-gateway-model')).toBe('openai/m')
})

interface Line {
  readonly surface: string
  readonly end_user: string | null
  readonly session: string | null
  readonly ended_by: string
  readonly usage_source: string | null
  readonly cost_nanos: number
}

const lineOf = (id: string): Line | undefined =>
  readDatabase<Line>(setup.cli, 'SELECT * FROM activity WHERE generation_id = ?', id)[0]
