// What /v1/keys refuses, in which order and with which message; no key of another account and no secret is shown.

import { describe, expect, test } from 'vitest'
import type { KeyId } from '#domain/id.ts'
import { newSecret } from '#domain/secret.ts'
import { anAct } from '#test/support/nouns.ts'
import { type Answer, bearerOf, type KeyCounter, openKeyCounter } from './key-counter.ts'

/** Status and code, after checking what every refusal has in common. */
function refusal({ status, headers, body, text }: Answer) {
  expect(headers.get('content-type'), text).toBe('application/json')
  expect(Object.keys(body.error)).toEqual(
    expect.arrayContaining(['message', 'type', 'param', 'code']),
  )
  expect(body.request_id).toBe(headers.get('x-request-id'))
  return [status, body.error.code, body.error.param]
}

const countOf = async ({ ask }: KeyCounter): Promise<number> =>
  (await ask('GET', '/v1/keys?include_revoked=true')).body.total_count

const INVALID = [400, 'invalid_request']
const UNKNOWN = [400, 'unknown_parameter']

/** Refused in a POST (with a valid name) and in a PATCH alike. */
const BAD_FIELDS: readonly (readonly [string, object, readonly unknown[], string | RegExp])[] = [
  ['name', { name: null }, INVALID, 'must be a text of 1 to 128 characters'],
  ['name', { name: '' }, INVALID, 'must be a text of 1 to 128 characters'],
  ['name', { name: ' \n ' }, INVALID, 'must be a text of 1 to 128 characters'],
  ['name', { name: 'x'.repeat(129) }, INVALID, 'must be a text of 1 to 128 characters'],
  ['name', { name: 'if-Dv2QeY' }, INVALID, 'must not be like the secret of a key'],
  ['name', { name: 'key_…xxn890' }, INVALID, 'must not be like the secret of a key'],
  ['name', { name: ' key_01jzxxn890' }, INVALID, 'must not be like the secret of a key'],
  ['name', { name: newSecret() }, INVALID, 'must not hold the secret of an API key'],
  ['name', { name: '\ud800' }, INVALID, 'must be a text of 1 to 128 characters'],
  ...['a\nb', 'a\tb', 'end\n', '\u001b[2Jx', 'x\u007f', 'x\u009b', 'x\u2028y'].map(
    (name) => ['name', { name }, INVALID, 'without line breaks and other control'] as const,
  ),
  ['name', { name: 5 }, INVALID, 'must be a text of 1 to 128 characters'],
  ...['rpm_limit', 'rpd_limit', 'concurrency_limit', 'end_user_rpm', 'max_output_tokens'].flatMap(
    (limit) =>
      [0, -1, 1.5, 2 ** 53, '5', true, [], {}].map(
        (value) =>
          [
            limit,
            { [limit]: value },
            INVALID,
            /whole number of at least 1; null is no limit, and a key is stopped by disabling/,
          ] as const,
      ),
  ),
  ['rpm_limit', { rpm_limit: 10_000_001 }, INVALID, 'must be at most 10000000'],
  ...['daily_spend_limit_usd', 'monthly_spend_limit_usd', 'end_user_daily_usd'].flatMap((limit) => [
    [limit, { [limit]: 5 }, INVALID, 'must be a string: send "5" and not 5'] as const,
    [limit, { [limit]: 5.25 }, INVALID, 'must be a string: send "5.25" and not 5.25'] as const,
    ...[
      '-5',
      '1e3',
      '5,00',
      '$5',
      '',
      ' 5',
      '0.0000001',
      '9007200',
      'Infinity',
      '5.',
      '.5',
      '0x5',
    ].map((value) => [limit, { [limit]: value }, INVALID, `(got "${value}")`] as const),
    [limit, { [limit]: -5 }, INVALID, 'must be a decimal amount of dollars'] as const,
    [limit, { [limit]: true }, INVALID, 'must be a decimal amount of dollars'] as const,
  ]),
  ['allowed_models', { allowed_models: 'demo/*' }, INVALID, 'must be a list of masks, or null'],
  ['allowed_models', { allowed_models: {} }, INVALID, 'must be a list of masks'],
  ['allowed_models', { allowed_models: Array(257).fill('*') }, INVALID, 'at most 256 masks'],
  ['allowed_models[1]', { allowed_models: ['*', 5] }, INVALID, 'must be a model id'],
  ['allowed_models[0]', { allowed_models: ['demo/e*'] }, INVALID, '(got "demo/e*")'],
  ['allowed_models[0]', { allowed_models: ['*/*'] }, INVALID, 'must be a model id'],
  ['allowed_models[0]', { allowed_models: ['%'] }, INVALID, 'must be a model id'],
  ['expires_at', { expires_at: 'tomorrow' }, INVALID, 'must be an RFC 3339 time'],
  ['expires_at', { expires_at: '2027-01-01' }, INVALID, 'must be an RFC 3339 time'],
  ['expires_at', { expires_at: '2027-02-30T00:00:00Z' }, INVALID, 'must be an RFC 3339 time'],
  ['expires_at', { expires_at: 1_900_000_000 }, INVALID, 'must be a'],
  ['expires_at', { expires_at: '2026-08-22T12:00:00Z' }, INVALID, 'must be a time in the future'],
  ['expires_at', { expires_at: '2020-01-01T00:00:00Z' }, INVALID, 'must be a time in the future'],
  ['id', { id: 'key_0' }, INVALID, 'never changes'],
  ['key', { key: newSecret() }, INVALID, 'made by the gateway'],
  ['kind', { kind: 'provisioning' }, INVALID, 'the operator makes provisioning keys'],
  ['kind', { kind: null }, INVALID, 'the operator makes provisioning keys'],
  ['status', { status: 'active' }, INVALID, '"disabled": true or false'],
  ['label', { label: 'x' }, INVALID, 'read-only'],
  ['object', { object: 'api_key' }, INVALID, 'read-only'],
  ['usage', { usage: { spend_day_usd: '0' } }, INVALID, 'read-only'],
  ['created_at', { created_at: null }, INVALID, 'read-only'],
  ['revoked_at', { revoked_at: null }, INVALID, 'revoked by DELETE'],
  [
    'daily_spend_limit',
    { daily_spend_limit: '5' },
    UNKNOWN,
    'did you mean "daily_spend_limit_usd"?',
  ],
  [
    'montly_spend_limit_usd',
    { montly_spend_limit_usd: '5' },
    UNKNOWN,
    'did you mean "monthly_spend_limit_usd"?',
  ],
  ['rpmLimit', { rpmLimit: 5 }, UNKNOWN, 'did you mean "rpm_limit"?'],
  ['allowed_model', { allowed_model: ['*'] }, UNKNOWN, 'did you mean "allowed_models"?'],
  ['budget', { budget: 5 }, UNKNOWN, /there is no field "budget"$/],
  ['note', { note: 'x' }, UNKNOWN, 'there is no field "note"'],
  ['account_id', { account_id: 'acct_2' }, UNKNOWN, 'there is no field "account_id"'],
  ['allowed_routes', { allowed_routes: ['*'] }, UNKNOWN, 'there is no field'],
  ['user_role', { user_role: 'admin' }, UNKNOWN, 'there is no field'],
  ['temp_budget_increase', { temp_budget_increase: 100 }, UNKNOWN, 'there is no field'],
  ['constructor', { constructor: 1 }, UNKNOWN, 'there is no field "constructor"'],
]

describe('an invalid body', () => {
  test('T4: is refused by the name of its field, with advice, and nothing is created or changed', async () => {
    const keys = await openKeyCounter()
    const { ask, mint } = keys
    const { key: _, ...record } = await mint({ rpm_limit: 7 })
    for (const [param, field, expected, words] of BAD_FIELDS) {
      for (const answer of [
        await ask('POST', '/v1/keys', { name: 'x', ...field }),
        await ask('PATCH', `/v1/keys/${record.id}`, { rpm_limit: 8, ...field }),
      ]) {
        expect([field, ...refusal(answer)]).toEqual([field, ...expected, param])
        expect(answer.body.error.message).toMatch(words)
        expect(answer.body.error.type).toBe('invalid_request_error')
      }
    }
    expect((await ask('GET', `/v1/keys/${record.id}`)).body).toEqual(record)
    expect(await countOf(keys)).toBe(2)
  })

  test('is not one with a name of 128 characters, however many bytes they take', async () => {
    const { mint } = await openKeyCounter()
    for (const char of ['x', 'ж', '🦊']) {
      expect((await mint({ name: char.repeat(128) })).name).toBe(char.repeat(128))
    }
  })

  test('is one without a name, one disabled at creation, and one that sets a prototype', async () => {
    const keys = await openKeyCounter()
    const post = async (body: unknown) => refusal(await keys.ask('POST', '/v1/keys', body))
    expect(await post({})).toEqual([...INVALID, 'name'])
    expect(await post({ name: 'x', disabled: true })).toEqual([...UNKNOWN, 'disabled'])
    expect(await post('{"name":"x","__proto__":{"rpm_limit":5}}')).toEqual([
      ...UNKNOWN,
      '__proto__',
    ])
    expect(await countOf(keys)).toBe(1)
  })

  test.each([
    [
      'daily_spend_limit_usd',
      '{"name":"x","daily_spend_limit_usd":"1","daily_spend_limit_usd":null}',
    ],
    ['rpm_limit', '{"rpm_limit":1,"name":"x",\n"rpm\\u005flimit"\t:\r2}'],
    ['name', '{"name":"a","name":"a"}'],
  ])('that states %s twice is refused', async (field, text) => {
    const keys = await openKeyCounter()
    const { id } = await keys.mint({ daily_spend_limit_usd: '1' })
    for (const [method, path] of [
      ['POST', '/v1/keys'],
      ['PATCH', `/v1/keys/${id}`],
    ] as const) {
      const answer = await keys.ask(method, path, text)
      expect(refusal(answer)).toEqual([...INVALID, field])
      expect(answer.body.error.message).toBe(`${field}: is stated more than once`)
    }
    expect(await countOf(keys)).toBe(2)
    expect((await keys.ask('GET', `/v1/keys/${id}`)).body.daily_spend_limit_usd).toBe('1.00')
  })

  test('is not seen where a string or an array contains the name of a field', async () => {
    const { mint } = await openKeyCounter()
    const name = '"name":"name"\\'
    expect((await mint({ name, allowed_models: ['*'] })).name).toBe(name)
    expect((await mint({ name: 'name' })).name).toBe('name')
  })

  test.each([[null], ['true'], [1]])('is one where disabled is %j', async (disabled) => {
    const { ask, mint } = await openKeyCounter()
    const { id } = await mint()
    const answer = await ask('PATCH', `/v1/keys/${id}`, { disabled })
    expect(refusal(answer)).toEqual([...INVALID, 'disabled'])
    expect(answer.body.error.message).toContain('must be true or false')
  })

  test('is quoted in part, and never with a whole secret', async () => {
    const { ask } = await openKeyCounter()
    const secret = newSecret()
    const long = 'y'.repeat(100_000)
    for (const body of [
      { name: 'x', daily_spend_limit_usd: secret },
      { name: 'x', allowed_models: [secret] },
      { name: 'x', expires_at: secret },
      { name: 'x', daily_spend_limit_usd: long },
      { name: 'x', allowed_models: [long] },
      { name: 'x', [long]: 1 },
    ]) {
      const { status, text } = await ask('POST', '/v1/keys', body)
      expect(status).toBe(400)
      expect(text).not.toContain(secret)
      expect(text.length).toBeLessThan(600)
    }
  })
})

describe('the order of checks', () => {
  const BAD = '{'
  const routes = (id: string): readonly (readonly [string, string, unknown?])[] => [
    ['POST', '/v1/keys', BAD],
    ['GET', '/v1/keys?limit=0'],
    ['GET', `/v1/keys/${id}`],
    ['PATCH', `/v1/keys/${id}`, BAD],
    ['DELETE', `/v1/keys/${id}`],
  ]

  test('1. the secret, 2. the kind of key, whatever else is wrong', async () => {
    const { ask, mint, deps, clock } = await openKeyCounter()
    const { id } = await mint()
    const { bearer: ordinary } = await deps.issue()
    const { bearer: revoked, key } = await deps.issue({}, 'provisioning')
    await deps.store.keys.revoke(key.id, anAct(clock.now()))
    for (const [method, path, body] of routes(id)) {
      const asked = async (headers: Record<string, string>) =>
        refusal(await ask(method, path, body, headers)).slice(0, 2)
      expect(await asked({})).toEqual([401, 'missing_api_key'])
      expect(await asked(bearerOf(newSecret()))).toEqual([401, 'invalid_api_key'])
      expect(await asked(revoked)).toEqual([401, 'api_key_revoked'])
      expect(await asked(ordinary)).toEqual([403, 'provisioning_key_required'])
    }
    expect((await ask('GET', `/v1/keys/${id}`)).body.status).toBe('active')
  })

  test('3. the body, before the key that the path names', async () => {
    const { ask, mint } = await openKeyCounter()
    const { id } = await mint()
    await ask('DELETE', `/v1/keys/${id}`)
    for (const path of [`/v1/keys/${id}`, '/v1/keys/key_none']) {
      expect(refusal(await ask('PATCH', path, BAD))).toEqual([400, 'invalid_json', null])
      expect(refusal(await ask('PATCH', path, { rpm: 5 }))).toEqual([...UNKNOWN, 'rpm'])
    }
    expect(refusal(await ask('PATCH', '/v1/keys/key_none', {}))).toEqual([
      404,
      'key_not_found',
      null,
    ])
  })

  test('a body that is not JSON, not an object, too large, or of another type', async () => {
    const keys = await openKeyCounter()
    const { ask, mint, boss } = keys
    const { id } = await mint()
    const plain = { ...boss.bearer, 'Content-Type': 'text/plain' }
    const zipped = { ...boss.bearer, 'Content-Encoding': 'gzip' }
    for (const [method, path] of [
      ['POST', '/v1/keys'],
      ['PATCH', `/v1/keys/${id}`],
    ] as const) {
      for (const [body, headers, expected] of [
        [BAD, boss.bearer, [400, 'invalid_json', null]],
        ['', boss.bearer, [400, 'invalid_json', null]],
        ['[]', boss.bearer, [400, 'invalid_request', null]],
        ['null', boss.bearer, [400, 'invalid_request', null]],
        ['"name"', boss.bearer, [400, 'invalid_request', null]],
        [
          `{"name":${'['.repeat(100)}${']'.repeat(100)}}`,
          boss.bearer,
          [400, 'invalid_request', null],
        ],
        [{ name: 'x' }, plain, [415, 'unsupported_media_type', null]],
        [undefined, boss.bearer, [415, 'unsupported_media_type', null]],
        [{ name: 'x' }, zipped, [415, 'unsupported_media_type', null]],
        [{ name: 'x'.repeat(1024 * 1024) }, boss.bearer, [413, 'request_too_large', null]],
      ] as const) {
        expect(refusal(await ask(method, path, body, headers))).toEqual(expected)
      }
    }
    expect(await countOf(keys)).toBe(2)
  })

  test('a list with invalid query parameters', async () => {
    const { ask } = await openKeyCounter()
    for (const [query, param] of [
      ...['0', '101', '-1', '1.5', 'ten', '', '1e1', '%31%30%30%30', '0x10'].map((n) => [
        `limit=${n}`,
        'limit',
      ]),
      ...['', 'key', 'gen-01', "key_' OR 1=1 --", 'key_%00', `key_${'0'.repeat(65)}`].map((id) => [
        `after=${id}`,
        'after',
      ]),
      ['after=key_nope', 'after'],
      ...['', 'yes', '1', 'TRUE'].map((word) => [`include_revoked=${word}`, 'include_revoked']),
    ]) {
      expect([query, ...refusal(await ask('GET', `/v1/keys?${query}`))]).toEqual([
        query,
        ...INVALID,
        param,
      ])
    }
  })

  test('an invalid id, however it is encoded', async () => {
    const { ask, mint } = await openKeyCounter()
    const { id, name, label } = await mint()
    for (const odd of [
      'key_none',
      name,
      encodeURIComponent(label),
      id.toUpperCase(),
      id.slice(0, -1),
      `${id}0`,
      `${id}%00`,
      `${id}%2f`,
      `${id}%2F..%2F${id}`,
      '%25',
      "'%20OR%201=1%20--",
      '*',
      '_',
      'key_%',
      'x'.repeat(2_000),
    ]) {
      for (const [method, body] of [['GET'], ['PATCH', { rpm_limit: 1 }], ['DELETE']] as const) {
        expect([odd, ...refusal(await ask(method, `/v1/keys/${odd}`, body))]).toEqual([
          odd,
          404,
          'key_not_found',
          null,
        ])
      }
    }
    expect((await ask('GET', `/v1/keys/${id}`)).body).toMatchObject({
      status: 'active',
      rpm_limit: null,
    })
  })

  test('an unsupported method, and an unknown path', async () => {
    const { ask } = await openKeyCounter()
    for (const [method, path, allow] of [
      ['PUT', '/v1/keys', 'POST, GET, HEAD, OPTIONS'],
      ['DELETE', '/api/v1/keys', 'POST, GET, HEAD, OPTIONS'],
      ['POST', '/v1/keys/key_none', 'GET, PATCH, DELETE, HEAD, OPTIONS'],
      ['PUT', '/api/v1/keys/key_none', 'GET, PATCH, DELETE, HEAD, OPTIONS'],
    ] as const) {
      const answer = await ask(method, path, {})
      expect([...refusal(answer), answer.headers.get('allow')]).toEqual([
        405,
        'method_not_allowed',
        null,
        allow,
      ])
    }
    for (const path of ['/v1/keys/a/b', '/v1/keys//a/b/', '/v1/keyss', '/keys']) {
      for (const method of ['GET', 'POST', 'PATCH', 'DELETE']) {
        expect([method, path, ...refusal(await ask(method, path))]).toEqual([
          method,
          path,
          404,
          'route_not_found',
          null,
        ])
      }
    }
  })
})

describe('access to keys', () => {
  test('T6: keys of another account cannot be seen, changed, revoked, counted or named', async () => {
    const { ask, mint, openAccount, issueIn, deps } = await openKeyCounter()
    const other = await openAccount('other')
    const theirs = await issueIn(other, { name: 'theirs', kind: 'provisioning' })
    const victim = await issueIn(other, { name: 'victim' })
    const mine = await mint({ name: 'mine' })
    for (const { key } of [victim, theirs]) {
      const none = await ask('GET', '/v1/keys/key_00000000000000000000000000')
      for (const [method, body] of [
        ['GET'],
        ['PATCH', { rpm_limit: 1 }],
        ['PATCH', { disabled: true }],
        ['PATCH', { name: 'mine now' }],
        ['DELETE'],
      ] as const) {
        const answer = await ask(method, `/v1/keys/${key.id}`, body)
        expect(refusal(answer)).toEqual([404, 'key_not_found', null])
        // The same message as for an id that does not exist.
        expect(answer.body.error).toEqual(none.body.error)
      }
      expect(await deps.store.keys.find(key.id)).toEqual(key)
    }
    const names = async (bearer: Record<string, string>, query = '') => {
      const { body } = await ask('GET', `/v1/keys${query}`, undefined, bearer)
      expect(body.total_count).toBe(body.data.length)
      return body.data.map(({ name }: { name: string }) => name)
    }
    expect(await names(theirs.bearer, '?include_revoked=true')).toEqual(['victim', 'theirs'])
    const pageAfter = (id: string) => ask('GET', `/v1/keys?after=${id}`, undefined, theirs.bearer)
    expect((await pageAfter(mine.id)).body.error).toEqual((await pageAfter('key_nope')).body.error)
    const { status } = await ask('DELETE', `/v1/keys/${mine.id}`, undefined, theirs.bearer)
    expect(status).toBe(404)
    expect((await ask('GET', `/v1/keys/${mine.id}`)).body.status).toBe('active')
    const made = await ask('POST', '/v1/keys', { name: 'third' }, theirs.bearer)
    expect((await deps.store.keys.find(made.body.id as KeyId))?.accountId).toBe(other.id)
  })

  test('T4: a provisioning key is shown but cannot be changed, neither itself nor another one', async () => {
    const { ask, boss, deps, issueIn } = await openKeyCounter()
    const sister = await issueIn(deps.account, { name: 'sister', kind: 'provisioning' })
    for (const { key } of [boss, sister]) {
      expect((await ask('GET', `/v1/keys/${key.id}`)).body).toMatchObject({ kind: 'provisioning' })
      for (const [method, body] of [
        ['PATCH', { expires_at: null }],
        ['PATCH', {}],
        ['DELETE'],
      ] as const) {
        const answer = await ask(method, `/v1/keys/${key.id}`, body)
        expect(refusal(answer)).toEqual([403, 'provisioning_key_not_allowed', null])
        expect(answer.body.error.type).toBe('permission_error')
      }
      // Their requests were refused, and still count as use.
      const lastUsedAt = key.id === boss.key.id ? expect.any(Number) : null
      expect(await deps.store.keys.find(key.id)).toEqual({ ...key, lastUsedAt })
    }
  })

  test('a key issued over HTTP is an ordinary key and cannot issue keys', async () => {
    const keys = await openKeyCounter()
    const { key } = await keys.mint({ kind: 'ordinary' })
    const answer = await keys.ask('POST', '/v1/keys', { name: 'x' }, bearerOf(key))
    expect(refusal(answer)).toEqual([403, 'provisioning_key_required', null])
    expect(await countOf(keys)).toBe(2)
  })

  test.each([
    ['POST', '{"name":"late"}'],
    ['PATCH', '{"rpm_limit":1}'],
  ])(
    'a key that is revoked while the body of its %s is being received changes nothing',
    async (method, text) => {
      const keys = await openKeyCounter()
      const { deps, clock, boss, api, mint, issueIn } = keys
      const witness = await issueIn(deps.account, { kind: 'provisioning' })
      const { id } = await mint()
      // The body is read only after the key has been accepted.
      const body = new ReadableStream(
        {
          async pull(controller) {
            await deps.store.keys.revoke(boss.key.id, anAct(clock.now()))
            controller.enqueue(new TextEncoder().encode(text))
            controller.close()
          },
        },
        { highWaterMark: 0 },
      )
      const path = method === 'POST' ? '/v1/keys' : `/v1/keys/${id}`
      const response = await api.app.request(`http://gateway.test${path}`, {
        method,
        headers: { ...boss.bearer, 'Content-Type': 'application/json' },
        body,
      })
      expect(await response.json()).toMatchObject({ error: { code: 'api_key_revoked' } })
      const { body: page } = await keys.ask(
        'GET',
        '/v1/keys?include_revoked=true',
        undefined,
        witness.bearer,
      )
      expect(page.total_count).toBe(3)
      expect(page.data[0]).toMatchObject({ id, rpm_limit: null })
    },
  )
})

describe('a secret', () => {
  test('is read from Authorization: Bearer and from nowhere else, and no variation of it is accepted', async () => {
    const { ask, boss } = await openKeyCounter()
    const good = boss.bearer['Authorization']!.slice('Bearer '.length)
    const digest = Bun.SHA256.hash(good, 'hex')
    for (const [headers, query] of [
      [{ 'X-Api-Key': good }, ''],
      [{ Cookie: `key=${good}` }, ''],
      [{}, `?key=${good}&api_key=${good}`],
      [{ Authorization: `Basic ${btoa(`:${good}`)}` }, ''],
      [bearerOf(good.slice(0, -1)), ''],
      [bearerOf(`${good}0`), ''],
      [bearerOf(good.slice(0, 20)), ''],
      [bearerOf(digest), ''],
      [bearerOf(`if-${digest.slice(0, 49)}`), ''],
      [bearerOf("' OR '1'='1' --"), ''],
      [bearerOf(`if-${"'".repeat(49)}`), ''],
      [bearerOf('x'.repeat(10_000)), ''],
    ] as const) {
      const answer = await ask('GET', `/v1/keys${query}`, undefined, headers)
      expect([headers, answer.status]).toEqual([headers, 401])
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
  })

  test('T8: appears in the response that created it and in no other, nor does its digest', async () => {
    const lines: unknown[] = []
    const { ask, mint, boss } = await openKeyCounter({ log: (line) => lines.push(line) })
    const made = await mint()
    const answers = [
      await ask('GET', '/v1/keys'),
      await ask('GET', `/v1/keys/${made.id}`),
      await ask('PATCH', `/v1/keys/${made.id}`, { rpm_limit: 5, allowed_models: ['none/*'] }),
      await ask('PATCH', `/v1/keys/${made.id}`, { key: made.key }),
      await ask('POST', '/v1/keys', {
        name: made.key.slice(0, 9),
        daily_spend_limit_usd: made.key,
      }),
      await ask('GET', '/v1/key', undefined, bearerOf(made.key)),
      await ask('POST', '/v1/keys', { name: 'x' }, bearerOf(made.key)),
      await ask('DELETE', `/v1/keys/${made.id}`),
      await ask('GET', '/v1/keys?include_revoked=true'),
      await ask('GET', '/v1/key', undefined, bearerOf(made.key)),
    ]
    const seen = answers.map(({ text, headers }) => text + JSON.stringify([...headers])).join('\n')
    for (const secret of [made.key, boss.bearer['Authorization']!.slice('Bearer '.length)]) {
      const digest = Bun.SHA256.hash(secret, 'hex')
      for (const trace of [secret, digest, Buffer.from(digest, 'hex').toString('base64')]) {
        expect(seen).not.toContain(trace)
        expect(JSON.stringify(lines)).not.toContain(trace)
      }
    }
    // Proof that the search can find something.
    expect(seen).toContain(made.label)
    expect(lines).toHaveLength(11)
    expect(lines[0]).toMatchObject({ route: 'keys.issue', key: boss.key.id, status: 201 })
  })
})
