// /v1/keys: the fields of a key, the pages of a list, and changes that apply from the next request.
import { describe, expect, test } from 'vitest'
import { NO_LIMITS } from '#domain/limits.ts'
import { readSecret } from '#domain/secret.ts'
import { hello, usd } from '#test/support/furnish.ts'
import { bearerOf, NOON, openKeyCounter } from './key-counter.ts'

const AT = new Date(NOON).toISOString().replace('.000Z', 'Z')

/** A key without optional settings, as in contract §5. */
const plain = {
  object: 'api_key',
  id: expect.stringMatching(/^key_[0-9a-z]{26}$/),
  name: 'worker',
  kind: 'ordinary',
  label: expect.stringMatching(/^if-\w{6}…\w{4}$/),
  rpm_limit: null,
  rpd_limit: null,
  tpm_limit: null,
  concurrency_limit: null,
  daily_spend_limit_usd: null,
  monthly_spend_limit_usd: null,
  allowed_models: null,
  end_user_rpm: null,
  end_user_daily_usd: null,
  max_output_tokens: null,
  status: 'active',
  created_at: AT,
  updated_at: AT,
  last_used_at: null,
  expires_at: null,
  revoked_at: null,
  usage: { requests_in_progress: 0, spend_day_usd: '0', spend_month_usd: '0' },
}

describe('POST', () => {
  test.each(['/v1/keys', '/api/v1/keys'])(
    '%s answers 201 with the secret, which is shown only there',
    async (path) => {
      const { ask, deps } = await openKeyCounter()
      const { status, headers, body } = await ask('POST', path, { name: 'worker' })
      expect(status).toBe(201)
      expect(headers.get('content-type')).toBe('application/json')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(body).toEqual({ ...plain, key: expect.stringMatching(/^if-[0-9A-Za-z]{49}$/) })
      expect(readSecret(body.key)).toBe(body.key)
      expect(body.label).toBe(`${body.key.slice(0, 9)}…${body.key.slice(-4)}`)
      expect((await deps.store.keys.find(body.id))?.accountId).toBe(deps.account.id)
    },
  )

  test('stores every limit, and the key obeys them at once', async () => {
    const { mint, api } = await openKeyCounter()
    const limits = {
      rpm_limit: 2,
      rpd_limit: 100,
      tpm_limit: 5_000,
      concurrency_limit: 4,
      daily_spend_limit_usd: '5',
      monthly_spend_limit_usd: '0.000001',
      allowed_models: ['demo/echo'],
      expires_at: '2026-09-01T02:00:00+02:00',
    }
    const { key, ...record } = await mint({ ...limits, name: '  wörker 🦊 ', kind: 'ordinary' })
    expect(record).toEqual({
      ...plain,
      ...limits,
      name: 'wörker 🦊',
      daily_spend_limit_usd: '5.00',
      expires_at: '2026-09-01T00:00:00Z',
    })
    const bearer = bearerOf(key)
    expect((await api.chat(bearer, hello({ model: 'demo/lorem' }))).status).toBe(403)
    const answered = await api.chat(bearer, hello())
    expect([answered.status, answered.headers.get('x-ratelimit-remaining-minute')]).toEqual([
      200,
      '1',
    ])
    expect((await api.chat(bearer, hello())).status).toBe(402)
  })

  test('takes null for no limit and an empty list for no model', async () => {
    const { mint, api } = await openKeyCounter()
    const nothing = {
      rpm_limit: null,
      rpd_limit: null,
      tpm_limit: null,
      concurrency_limit: null,
      daily_spend_limit_usd: null,
      monthly_spend_limit_usd: null,
      expires_at: null,
    }
    const { key, ...record } = await mint({ ...nothing, allowed_models: [] })
    expect(record).toEqual({ ...plain, allowed_models: [] })
    expect((await api.chat(bearerOf(key), hello())).status).toBe(403)
    expect(await mint({ allowed_models: null, name: 'free' })).toMatchObject({
      allowed_models: null,
    })
  })

  test('warns of patterns that match no model, and of an equal name in the same account only', async () => {
    const { mint, openAccount, issueIn } = await openKeyCounter()
    await issueIn(await openAccount('other'), { name: 'ci' })
    const first = await mint({
      name: 'ci',
      allowed_models: ['demo/ecko', 'demoo/*', 'demo/*', '*'],
    })
    expect(first.warnings).toEqual([
      '"demo/ecko" matches no model; did you mean "demo/echo"?',
      '"demoo/*" matches no model; did you mean "demo/*"?',
    ])
    expect((await mint({ name: 'ci' })).warnings).toEqual([
      'another key is called "ci" too; tell them apart by id',
    ])
  })

  test('two hundred concurrent requests issue two hundred keys', async () => {
    const { mint, ask, api } = await openKeyCounter()
    const made = await Promise.all(Array.from({ length: 200 }, (_, n) => mint({ name: `k${n}` })))
    expect(new Set(made.map(({ id }) => id)).size).toBe(200)
    expect(new Set(made.map(({ key }) => key)).size).toBe(200)
    expect((await ask('GET', '/v1/keys')).body).toMatchObject({ total_count: 201, has_more: true })
    for (const { key, id } of made) {
      const info = await api.get('/v1/key', bearerOf(key))
      expect(await info.json()).toMatchObject({ id })
    }
  })
})

describe('GET', () => {
  test('a list contains the same record as a single read', async () => {
    const { ask, mint, boss } = await openKeyCounter()
    const { key: _, ...record } = await mint()
    const { status, body, headers } = await ask('GET', '/v1/keys')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json')
    expect(body).toEqual({
      object: 'list',
      data: [
        record,
        {
          ...plain,
          id: boss.key.id,
          name: 'boss',
          kind: 'provisioning',
          label: boss.key.label,
          last_used_at: AT,
        },
      ],
      has_more: false,
      first_id: record.id,
      last_id: boss.key.id,
      total_count: 2,
    })
    expect((await ask('GET', `/v1/keys/${record.id}`)).body).toEqual(record)
    expect((await ask('GET', `/api/v1/keys/${boss.key.id}`)).body).toMatchObject({
      kind: 'provisioning',
    })
  })

  test('pages through 250 keys, newest first, each exactly once', async () => {
    const { ask, mint, boss } = await openKeyCounter()
    const made = [boss.key.id as string]
    for (let n = 0; n < 249; n++) made.unshift((await mint({ name: `k${n}` })).id)
    const walk = async (limit: string) => {
      const seen: string[] = []
      let after = ''
      for (let page = 0; page < 300; page++) {
        const { body } = await ask('GET', `/v1/keys?${limit}${after}`)
        expect(body.total_count).toBe(250)
        expect(body.first_id).toBe(body.data[0].id)
        expect(body.last_id).toBe(body.data.at(-1).id)
        seen.push(...body.data.map(({ id }: { id: string }) => id))
        if (!body.has_more) return seen
        after = `&after=${body.last_id}`
      }
      throw new Error('it does not end')
    }
    expect(await walk('')).toEqual(made)
    expect(await walk('limit=100')).toEqual(made)
    expect(await walk('limit=7')).toEqual(made)
    const { body } = await ask('GET', `/v1/keys?after=${made.at(-1)}`)
    expect(body).toEqual({
      object: 'list',
      data: [],
      has_more: false,
      first_id: null,
      last_id: null,
      total_count: 250,
    })
  })

  test('shows revoked keys on request, and marks an expired one', async () => {
    const { ask, mint, clock } = await openKeyCounter()
    const gone = await mint({ name: 'gone' })
    await mint({ name: 'brief', expires_at: '2026-08-22T12:00:01Z' })
    await ask('DELETE', `/v1/keys/${gone.id}`)
    clock.advance(1_000)
    const names = async (query: string) => {
      const { body } = await ask('GET', `/v1/keys${query}`)
      return [
        ...body.data.map((key: { name: string; status: string }) => `${key.name} ${key.status}`),
        body.total_count,
      ]
    }
    const living = ['brief expired', 'boss active', 2]
    expect(await names('')).toEqual(living)
    expect(await names('?include_revoked=false')).toEqual(living)
    expect(await names('?include_revoked=true')).toEqual([
      'brief expired',
      'gone revoked',
      'boss active',
      3,
    ])
  })

  test('shows what each key has spent and has in progress', async () => {
    const { ask, mint, api } = await openKeyCounter()
    const { key, id } = await mint()
    await (await api.chat(bearerOf(key), hello())).text()
    const busy = await api.chat(bearerOf(key), hello({ stream: true }))
    const { body } = await ask('GET', `/v1/keys/${id}`)
    expect(body).toMatchObject({
      last_used_at: AT,
      usage: { requests_in_progress: 1, spend_day_usd: '0.000009', spend_month_usd: '0.000009' },
    })
    expect((await ask('GET', '/v1/keys')).body.data[0]).toEqual(body)
    await busy.text()
    expect((await ask('GET', `/v1/keys/${id}`)).body.usage.requests_in_progress).toBe(0)
  })
})

describe('PATCH', () => {
  test('changes the fields that are sent, keeps the others, and removes those that are null', async () => {
    const { ask, mint, clock } = await openKeyCounter()
    const { key: _, ...record } = await mint({
      rpm_limit: 60,
      rpd_limit: 600,
      concurrency_limit: 6,
      daily_spend_limit_usd: '5',
      monthly_spend_limit_usd: '50',
      allowed_models: ['demo/*'],
      expires_at: '2026-09-01T00:00:00Z',
    })
    let expected: object = record
    for (const [sent, seen] of [
      [{ rpm_limit: 61 }],
      [{ rpm_limit: null }],
      [{ rpd_limit: null, concurrency_limit: 1 }],
      [{ daily_spend_limit_usd: '5.5' }, { daily_spend_limit_usd: '5.50' }],
      [{ daily_spend_limit_usd: null, monthly_spend_limit_usd: '0' }],
      [{ monthly_spend_limit_usd: null }],
      [
        { end_user_rpm: 6, end_user_daily_usd: '0.5' },
        { end_user_rpm: 6, end_user_daily_usd: '0.50' },
      ],
      [{ end_user_rpm: null }],
      [{ max_output_tokens: 1 }],
      [{ max_output_tokens: null }],
      [{ allowed_models: [] }],
      [{ allowed_models: null }],
      [{ name: 'renamed' }],
      [{ disabled: true }, { status: 'disabled' }],
      [{ disabled: true }, { status: 'disabled' }],
      [{ disabled: false }, { status: 'active' }],
      [{ expires_at: '2027-01-01T00:00:00Z' }],
      [{ expires_at: null }],
      [{}],
    ] as const) {
      clock.advance(1_000)
      expected = {
        ...expected,
        ...(seen ?? sent),
        updated_at: new Date(clock.now()).toISOString().replace('.000Z', 'Z'),
      }
      const { status, body } = await ask('PATCH', `/v1/keys/${record.id}`, sent)
      expect([sent, status, body]).toEqual([sent, 200, expected])
      expect((await ask('GET', `/v1/keys/${record.id}`)).body).toEqual(expected)
    }
  })

  test('applies from the next request, for every limit', async () => {
    const { ask, mint, api } = await openKeyCounter()
    const { key, id } = await mint()
    const codeAfter = async (change: object) => {
      expect((await ask('PATCH', `/v1/keys/${id}`, change)).status).toBe(200)
      const response = await api.chat(bearerOf(key), hello())
      return response.status === 200
        ? 200
        : ((await response.json()) as { error: { code: string } }).error.code
    }
    expect(await codeAfter({})).toBe(200)
    expect(await codeAfter({ rpm_limit: 1 })).toBe('rate_limit_exceeded')
    expect(await codeAfter({ rpm_limit: 2 })).toBe(200)
    expect(await codeAfter({ rpm_limit: null, rpd_limit: 2 })).toBe('rate_limit_exceeded')
    expect(await codeAfter({ rpd_limit: null, daily_spend_limit_usd: '0' })).toBe(
      'daily_spend_limit_exceeded',
    )
    expect(await codeAfter({ daily_spend_limit_usd: null, monthly_spend_limit_usd: '0' })).toBe(
      'monthly_spend_limit_exceeded',
    )
    expect(await codeAfter({ monthly_spend_limit_usd: '9', allowed_models: ['demo/lorem'] })).toBe(
      'model_not_allowed',
    )
    expect(await codeAfter({ allowed_models: null, disabled: true })).toBe('api_key_disabled')
    expect(await codeAfter({ disabled: false })).toBe(200)
    expect(await codeAfter({ expires_at: '2026-08-22T12:00:01Z' })).toBe(200)
  })

  test('enables an expired key by a new expiry, and a disabled one by `disabled: false`', async () => {
    const { ask, mint, api, clock } = await openKeyCounter()
    const { key, id } = await mint({ expires_at: '2026-08-22T12:00:01Z' })
    const status = async () => (await api.chat(bearerOf(key), hello())).status
    expect(await status()).toBe(200)
    clock.advance(1_000)
    expect(await status()).toBe(401)
    expect((await ask('PATCH', `/v1/keys/${id}`, { expires_at: null })).body.status).toBe('active')
    expect(await status()).toBe(200)
  })

  test('warns as POST does, but not of the key’s own name', async () => {
    const { ask, mint } = await openKeyCounter()
    await mint({ name: 'taken' })
    const { id } = await mint({ name: 'mine' })
    const warned = async (change: object) =>
      (await ask('PATCH', `/v1/keys/${id}`, change)).body.warnings
    expect(await warned({ name: 'mine' })).toBeUndefined()
    expect(await warned({ rpm_limit: 1 })).toBeUndefined()
    expect(await warned({ name: 'taken' })).toEqual([
      'another key is called "taken" too; tell them apart by id',
    ])
    expect(await warned({ allowed_models: ['none/*'] })).toEqual([
      '"none/*" matches no model today',
    ])
    // A warning that was already given is not repeated.
    expect(await warned({ rpm_limit: 2 })).toBeUndefined()
  })
})

describe('DELETE', () => {
  test('revokes permanently, from the next request, and answers the same when repeated', async () => {
    const { ask, mint, api, clock, deps } = await openKeyCounter()
    const { key, id } = await mint()
    const deleted = { id, object: 'api_key.deleted', deleted: true }
    for (let i = 0; i < 3; i++) {
      const { status, body } = await ask('DELETE', `/v1/keys/${id}`)
      expect([status, body]).toEqual([200, deleted])
      clock.advance(1_000)
    }
    const refused = await api.chat(bearerOf(key), hello())
    expect(refused.status).toBe(401)
    expect(await refused.json()).toMatchObject({ error: { code: 'api_key_revoked' } })
    expect((await ask('GET', `/v1/keys/${id}`)).body).toMatchObject({
      status: 'revoked',
      revoked_at: AT,
    })
    expect(await deps.store.keys.find(id as never)).toMatchObject({ revokedAt: NOON })
    for (const change of [{ rpm_limit: 1 }, { disabled: false }, {}]) {
      const { status, body } = await ask('PATCH', `/v1/keys/${id}`, change)
      expect([status, body.error.code, body.error.type]).toEqual([
        409,
        'key_revoked',
        'invalid_request_error',
      ])
    }
  })

  test('lets a running stream finish, and charges it', async () => {
    const { ask, mint, api } = await openKeyCounter()
    const { key, id } = await mint()
    const stream = await api.chat(bearerOf(key), hello({ stream: true }))
    await ask('DELETE', `/v1/keys/${id}`)
    expect((await api.chat(bearerOf(key), hello())).status).toBe(401)
    expect(await stream.text()).toContain('data: [DONE]')
    expect((await ask('GET', `/v1/keys/${id}`)).body.usage).toEqual({
      requests_in_progress: 0,
      spend_day_usd: '0.000009',
      spend_month_usd: '0.000009',
    })
  })
})

describe('the provisioning key', () => {
  test('uses no slot, needs no money, and gets its rate headers on every response', async () => {
    const { ask, issueIn, openAccount } = await openKeyCounter()
    const poor = await openAccount('poor')
    const limits = {
      ...NO_LIMITS,
      rpm: 1,
      rpd: 2,
      concurrency: 1,
      dailySpend: usd('0'),
      monthlySpend: usd('0'),
      allowedModels: [],
    }
    const { key, bearer } = await issueIn(poor, { kind: 'provisioning', limits })
    const made = await ask('POST', '/v1/keys', { name: 'a' }, bearer)
    const id = made.body.id
    const answers = [
      [made, 201],
      [await ask('POST', '/v1/keys', { name: 'b' }, bearer), 201],
      [await ask('GET', '/v1/keys', undefined, bearer), 200],
      [await ask('GET', `/v1/keys/${id}`, undefined, bearer), 200],
      [await ask('PATCH', `/v1/keys/${id}`, { rpm_limit: 1 }, bearer), 200],
      [await ask('DELETE', `/v1/keys/${id}`, undefined, bearer), 200],
      [await ask('PATCH', `/v1/keys/${id}`, { rpm_limit: 1 }, bearer), 409],
      [await ask('PATCH', `/v1/keys/${key.id}`, { rpm_limit: 1 }, bearer), 403],
      [await ask('POST', '/v1/keys', {}, bearer), 400],
      [await ask('GET', '/v1/keys/key_none', undefined, bearer), 404],
    ] as const
    for (const [{ status, headers }, expected] of answers) {
      const rate = [
        'limit-minute',
        'remaining-minute',
        'reset-minute',
        'limit-day',
        'remaining-day',
        'reset-day',
      ]
      const told = rate.map((name) => headers.get(`x-ratelimit-${name}`))
      expect([status, told]).toEqual([expected, ['1', '1', '0', '2', '2', '0']])
    }
    expect(answers[2][0].body.data).toHaveLength(3)
  })

  test('without rate limits gets no rate headers', async () => {
    const { ask } = await openKeyCounter()
    const { headers } = await ask('POST', '/v1/keys', { name: 'a' })
    expect([...headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual([])
  })
})
