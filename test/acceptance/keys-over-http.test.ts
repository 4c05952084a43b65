/** Keys managed over HTTP by a stranger with a provisioning key: every row of the table, other people's keys, many at once. */
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readSse } from '#test/support/read-sse.ts'
import { type KeyGateway, openKeyGateway } from './keys/key-gateway.ts'
import { REFUSALS } from './keys/refusals.ts'

let setup: KeyGateway
beforeAll(async () => {
  setup = await openKeyGateway()
})
afterAll(() => setup?.close())

const ask: KeyGateway['ask'] = (...asked) => setup.ask(...asked)
const mint: KeyGateway['mint'] = (...minted) => setup.mint(...minted)
const chat = (key: string, body: unknown) => setup.gateway.chat(key, body)

const hello = { model: 'demo/echo', messages: [{ role: 'user' as const, content: 'hi' }] }
const INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/)

const record = (fields: object) => ({
  object: 'api_key',
  id: expect.stringMatching(/^key_[0-9a-z]{26}$/),
  kind: 'ordinary',
  label: expect.stringMatching(/^if-\w{6}…\w{4}$/),
  rpm_limit: null,
  rpd_limit: null,
  concurrency_limit: null,
  daily_spend_limit_usd: null,
  monthly_spend_limit_usd: null,
  allowed_models: null,
  status: 'active',
  created_at: INSTANT,
  updated_at: INSTANT,
  last_used_at: null,
  expires_at: null,
  revoked_at: null,
  usage: { requests_in_progress: 0, spend_day_usd: '0', spend_month_usd: '0' },
  ...fields,
})

describe('the life of a key', () => {
  test.each(['/v1', '/api/v1'])(
    'under %s: issued, shown, listed, amended, revoked',
    async (prefix) => {
      const limits = {
        rpm_limit: 60,
        concurrency_limit: 4,
        daily_spend_limit_usd: '5.00',
        allowed_models: ['demo/*'],
      }
      const issued = await ask('POST', `${prefix}/keys`, { body: { name: 'worker', ...limits } })
      expect(issued.status).toBe(201)
      expect(issued.headers.get('cache-control')).toBe('no-store')
      const { key, ...made } = issued.body
      expect(key).toMatch(/^if-[0-9A-Za-z]{49}$/)
      expect(made).toMatchObject(record({ name: 'worker', ...limits }))
      expect((await chat(key, hello)).status).toBe(200)

      const shown = await ask('GET', `${prefix}/keys/${made.id}`)
      const spent = {
        ...made.usage,
        spend_day_usd: expect.not.stringMatching(/^0$/),
        spend_month_usd: expect.any(String),
      }
      expect([shown.status, shown.body]).toEqual([
        200,
        { ...made, usage: spent, last_used_at: INSTANT },
      ])
      const listed = await ask('GET', `${prefix}/keys?limit=1`)
      expect([listed.status, listed.body]).toEqual([
        200,
        {
          object: 'list',
          data: [shown.body],
          has_more: true,
          first_id: made.id,
          last_id: made.id,
          total_count: expect.any(Number),
        },
      ])

      const amended = await ask('PATCH', `${prefix}/keys/${made.id}`, {
        body: { rpm_limit: 61, daily_spend_limit_usd: null },
      })
      expect([amended.status, amended.body]).toEqual([
        200,
        { ...shown.body, rpm_limit: 61, daily_spend_limit_usd: null, updated_at: INSTANT },
      ])
      expect((await ask('GET', `${prefix}/keys/${made.id}`)).body).toEqual(amended.body)
      for (let i = 0; i < 2; i++) {
        const deleted = await ask('DELETE', `${prefix}/keys/${made.id}`)
        expect([deleted.status, deleted.body]).toEqual([
          200,
          { id: made.id, object: 'api_key.deleted', deleted: true },
        ])
      }
      const refused = await chat(key, hello)
      expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect(await refused.json()).toMatchObject({ error: { code: 'api_key_revoked' } })
      expect((await ask('GET', `${prefix}/keys/${made.id}`)).body).toMatchObject({
        status: 'revoked',
        revoked_at: INSTANT,
      })
    },
  )

  test('the keys that manage are made by the operator, and do not manage themselves', async () => {
    const { body } = await ask('GET', '/v1/keys')
    const own = body.data.find(({ kind }: { kind: string }) => kind === 'provisioning')
    expect(own).toMatchObject({ name: 'boss' })
    for (const [method, sent] of [
      ['PATCH', { rpm_limit: null }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await ask(method, `/v1/keys/${own.id}`, { body: sent })
      expect([answer.status, answer.body.error.code]).toEqual([403, 'provisioning_key_not_allowed'])
    }
    expect((await ask('GET', '/v1/keys')).status).toBe(200)
  })
})

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
}

describe('what is refused', () => {
  for (const [what, line, expected, asked] of REFUSALS) {
    test(what, async () => {
      const [method = '', path = ''] = line.split(' ')
      const count = async () => (await ask('GET', '/v1/keys?include_revoked=true')).body.total_count
      const before = await count()
      const { status, headers, body } = await ask(method, path, asked)
      const { message, type, code, param } = body.error
      expect([status, code, param].filter((part) => part !== null).join(' ')).toBe(expected)
      expect(type).toBe(TYPES[status] ?? 'invalid_request_error')
      expect(message).not.toBe('')
      expect(headers.get('content-type')).toBe('application/json')
      expect(headers.get('x-request-id')).toBe(body.request_id)
      expect(headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null)
      expect(headers.get('allow')).toBe(status === 405 ? 'POST, GET, HEAD, OPTIONS' : null)
      // Its window of one was never taken: managing keys takes no slot.
      expect(headers.get('x-ratelimit-remaining-minute')).toBe(status === 401 ? null : '1')
      expect(await count()).toBe(before)
    })
  }

  test.each([
    'POST /v1/keys',
    'GET /v1/keys',
    'GET /v1/keys/key_0',
    'PATCH /v1/keys/key_0',
    'DELETE /v1/keys/key_0',
  ])('%s, to a key that calls models', async (line) => {
    const [method = '', path = ''] = line.split(' ')
    const { status, body } = await ask(method, path, { key: setup.ordinary })
    expect([status, body.error.type, body.error.code]).toEqual([
      403,
      'permission_error',
      'provisioning_key_required',
    ])
  })

  test('a revoked key can not be changed', async () => {
    const { id } = await mint()
    await ask('DELETE', `/v1/keys/${id}`)
    const { status, body } = await ask('PATCH', `/v1/keys/${id}`, { body: { disabled: false } })
    expect([status, body.error.type, body.error.code]).toEqual([
      409,
      'invalid_request_error',
      'key_revoked',
    ])
  })

  test('in the classes of the stock client', async () => {
    const asked = (key: string, path: string) =>
      setup.gateway
        .client(key)
        .get(path)
        .catch((thrown) => thrown)
    expect(await asked(setup.ordinary, '/keys')).toBeInstanceOf(OpenAI.PermissionDeniedError)
    expect(await asked(setup.admin, '/keys/key_none')).toBeInstanceOf(OpenAI.NotFoundError)
    const made = (await setup.gateway
      .client(setup.admin)
      .post('/keys', { body: { name: 'by the SDK' } })) as {
      key: string
    }
    setup.secrets.push(made.key)
    expect((await chat(made.key, hello)).status).toBe(200)
  })
})

describe('another account', () => {
  test('T6: has no keys that this one could see, change, revoke, count or page through', async () => {
    const theirs = await mint({ name: 'theirs', rpm_limit: 7 }, setup.rival)
    const { body: before } = await ask('GET', `/v1/keys/${theirs.id}`, { key: setup.rival })
    const { body: none } = await ask('GET', '/v1/keys/key_00000000000000000000000000')
    for (const [method, sent] of [
      ['GET', undefined],
      ['PATCH', { rpm_limit: null }],
      ['PATCH', { disabled: true }],
      ['DELETE', undefined],
    ] as const) {
      const { status, body } = await ask(method, `/v1/keys/${theirs.id}`, { body: sent })
      expect([method, status, body.error]).toEqual([method, 404, none.error])
    }
    expect((await ask('GET', `/v1/keys/${theirs.id}`, { key: setup.rival })).body).toEqual(before)
    expect((await chat(theirs.key, hello)).status).toBe(402)
    const { body: page } = await ask('GET', `/v1/keys?include_revoked=true&after=${theirs.id}`, {
      key: setup.rival,
    })
    expect(page.data.map(({ name }: { name: string }) => name)).toEqual(['rival'])
    const all = await ask('GET', '/v1/keys?include_revoked=true')
    expect(JSON.stringify(all.body)).not.toContain(theirs.id)
    expect(JSON.stringify(all.body)).not.toContain('theirs')
    // Nor is it told that a name is taken over there.
    expect(
      (await ask('POST', '/v1/keys', { body: { name: 'theirs' } })).body.warnings,
    ).toBeUndefined()
  })
})

describe('from the next request', () => {
  test('a change holds, while what is running goes on', async () => {
    const { key, id } = await mint({ name: 'changing' })
    const codeAfter = async (change: object) => {
      expect((await ask('PATCH', `/v1/keys/${id}`, { body: change })).status).toBe(200)
      const response = await chat(key, hello)
      return response.ok ? 200 : ((await response.json()) as { error: { code: string } }).error.code
    }
    expect(await codeAfter({ allowed_models: ['demo/lorem'] })).toBe('model_not_allowed')
    expect(await codeAfter({ allowed_models: null })).toBe(200)
    expect(await codeAfter({ rpm_limit: 1 })).toBe('rate_limit_exceeded')
    expect(await codeAfter({ rpm_limit: null, daily_spend_limit_usd: '0.000001' })).toBe(
      'daily_spend_limit_exceeded',
    )
    expect(await codeAfter({ daily_spend_limit_usd: null, disabled: true })).toBe(
      'api_key_disabled',
    )
    expect(await codeAfter({ disabled: false })).toBe(200)
  })

  test.each(['revoked', 'disabled'])(
    'a key that is %s gets 401 while its stream ends whole',
    async (how) => {
      const { key, id } = await mint({ name: how })
      const words = 40
      const slow = {
        ...hello,
        model: 'demo/lorem',
        user: 'rate-50',
        max_tokens: words,
        stream: true as const,
      }
      const stream = await setup.gateway.client(key).chat.completions.create(slow)
      let heard = 0
      let usage: unknown = null
      let refused: Response | null = null
      for await (const chunk of stream) {
        if (chunk.choices[0]?.delta.content) heard++
        usage = chunk.usage ?? usage
        if (heard !== 3 || refused !== null) continue
        const path = `/v1/keys/${id}`
        if (how === 'revoked') await ask('DELETE', path)
        else await ask('PATCH', path, { body: { disabled: true } })
        refused = await chat(key, hello)
        expect(heard).toBeLessThan(words)
      }
      expect(refused?.status).toBe(401)
      expect(await refused?.json()).toMatchObject({ error: { code: `api_key_${how}` } })
      expect(heard).toBe(words)
      expect(usage).toMatchObject({ completion_tokens: words })
      expect((await chat(key, hello)).status).toBe(401)
      const { body } = await ask('GET', `/v1/keys/${id}`)
      expect(body).toMatchObject({ status: how, usage: { requests_in_progress: 0 } })
      expect(body.usage.spend_day_usd).not.toBe('0')
    },
  )

  test('a rotated secret works on until its grace ends, and its stream beyond it', async () => {
    const { key, id } = await mint({ name: 'turning', rpd_limit: 3 })
    const first = setup.cli.run(['keys', 'rotate', id])
    setup.secrets.push(first.out.trim())
    const statusOf = async (secret: string) => (await chat(secret, hello)).status
    expect([first.code, await statusOf(key), await statusOf(first.out.trim())]).toEqual([
      0, 200, 200,
    ])
    const slow = { ...hello, model: 'demo/lorem', user: 'rate-50', max_tokens: 20, stream: true }
    const stream = await chat(key, slow)
    const second = setup.cli.run(['keys', 'rotate', id, '--grace', '0', '--yes'])
    setup.secrets.push(second.out.trim())
    for (const old of [key, first.out.trim()]) expect(await statusOf(old)).toBe(401)
    expect(readSse(await stream.text()).done).toBe(true)
    // The counters went with the key: this is the fourth of three.
    expect(await statusOf(second.out.trim())).toBe(429)
    expect((await ask('GET', `/v1/keys/${id}`)).body).toMatchObject({
      label: `${second.out.slice(0, 9)}…${second.out.trim().slice(-4)}`,
    })
  })
})

describe('many', () => {
  test('two hundred at once are two hundred keys, in order, also after a kill', async () => {
    const before = (await ask('GET', '/v1/keys')).body.total_count
    const made = await Promise.all(
      Array.from({ length: 200 }, (_, n) => mint({ name: `many ${n}` })),
    )
    expect(new Set(made.map(({ id }) => id)).size).toBe(200)
    expect(new Set(made.map(({ key }) => key)).size).toBe(200)
    // Acknowledged means kept, whatever happens to the process.
    await setup.restart()
    const seen: string[] = []
    let after = ''
    for (;;) {
      const { body } = await ask('GET', `/v1/keys?limit=90${after}`)
      expect(body.total_count).toBe(before + 200)
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      if (!body.has_more) break
      after = `&after=${body.last_id}`
    }
    expect(seen).toHaveLength(before + 200)
    expect(seen).toEqual(seen.toSorted().reverse())
    expect(made.every(({ id }) => seen.includes(id))).toBe(true)
    const infos = await Promise.all(made.map(({ key }) => ask('GET', '/v1/key', { key })))
    expect(infos.map(({ body }) => body.id)).toEqual(made.map(({ id }) => id))
  })

  test('revoked twenty times at once is revoked once', async () => {
    const { id } = await mint()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => ask('DELETE', `/v1/keys/${id}`)),
    )
    expect(
      new Set(answers.map(({ status, body }) => `${status} ${JSON.stringify(body)}`)).size,
    ).toBe(1)
  })
})

test('no secret is in any answer, log or file but in the answer that made it', async () => {
  expect(setup.secrets.length).toBeGreaterThan(200)
  expect(setup.answers.length).toBeGreaterThan(200)
  await setup.expectNoSecret()
})
