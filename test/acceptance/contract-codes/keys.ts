/** Errors of authentication: secrets, key states, kinds of keys; and of idempotency. */
import { newSecret } from '#domain/secret.ts'
import { until } from '#test/support/appliance.ts'
import { type Case, limitOf, type Row } from './case.ts'
import type { Visitor } from './visitor.ts'

/** Every path that needs a key. */
const WANTS_KEY = [
  ['POST', '/chat/completions'],
  ['GET', '/models'],
  ['GET', '/models/demo/echo'],
  ['GET', '/key'],
  ['GET', '/generation?id=gen-x'],
  ['POST', '/keys'],
  ['GET', '/keys'],
  ['GET', '/keys/key_x'],
  ['PATCH', '/keys/key_x'],
  ['DELETE', '/keys/key_x'],
] as const

/** A request to every path that needs a key. */
const everywhere = (headers: () => Record<string, string>, query = (): string => ''): Case[] =>
  WANTS_KEY.map(([method, path]) => ({
    what: `${method} ${path}`,
    ask: (visitor) => visitor.call(method, path + query(), undefined, headers()),
  }))

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })

/** A valid secret, for places where no secret is read. */
const working = async ({ scene }: Visitor): Promise<string> =>
  (await scene.gateway.verb('keys.create', { name: 'elsewhere' })).key

const MISPLACED: readonly (readonly [string, (secret: string) => Record<string, string>])[] = [
  ['x-api-key', (secret) => ({ 'x-api-key': secret })],
  ['api-key', (secret) => ({ 'api-key': secret })],
  ['a cookie', (secret) => ({ cookie: `api_key=${secret}; Authorization=Bearer ${secret}` })],
  ['another scheme', (secret) => ({ authorization: `Basic ${btoa(`:${secret}`)}` })],
]

/** Brings a key into a state, and calls every path that accepts it. */
const inState = (
  state: string,
  change: (visitor: Visitor, id: string) => Promise<unknown>,
): Case[] =>
  (['chat', 'list', 'about itself'] as const).map((way) => ({
    what: way,
    metadata: limitOf('status', 'active', state),
    async ask(visitor) {
      const { id } = await visitor.key()
      await change(visitor, id)
      if (way === 'chat') return await visitor.chat()
      return await visitor.call('GET', way === 'list' ? '/models' : '/key')
    },
  }))

async function letExpire(visitor: Visitor): Promise<void> {
  const expires_at = new Date(Date.now() + 150).toISOString()
  await visitor.key({ expires_at })
  await until(() => Date.now() > Date.parse(expires_at), 'it has expired')
}

const asOrdinary = (method: string, path: string, body?: unknown): Case => ({
  what: `${method} ${path}`,
  async ask(visitor) {
    await visitor.key()
    return await visitor.call(method, path, body)
  },
})

const asProvisioning = (method: string, path: string, body?: unknown): Case => ({
  what: `${method} ${path}`,
  async ask(visitor) {
    const { id } = await visitor.key({ kind: 'provisioning' })
    return await visitor.call(method, path.replace('SELF', id), body)
  },
})

/** With a provisioning key, about the key `id`. */
const about = (method: string, id: string, body?: unknown): Case => ({
  what: `${method} ${id}`,
  async ask(visitor) {
    await visitor.key({ kind: 'provisioning' })
    return await visitor.call(method, `/keys/${id}`, body)
  },
})

/** A key that may call one model only. */
const outside = (
  what: string,
  ask: (visitor: Visitor) => Promise<Response>,
  used: string,
): Case => ({
  what,
  param: 'model',
  metadata: limitOf('allowed_models', 'acme/*, demo/lorem', used),
  async ask(visitor) {
    await visitor.key({ allowed_models: ['acme/*', 'demo/lorem'] })
    return await ask(visitor)
  },
})

export const KEYS = {
  missing_api_key: {
    status: 401,
    type: 'authentication_error',
    cases: [
      ...everywhere(() => ({})),
      ...MISPLACED.map(([what, headers]) => ({
        what: `a secret that works, in ${what}`,
        ask: async (visitor: Visitor) =>
          await visitor.call('GET', '/models', undefined, headers(await working(visitor))),
      })),
      {
        what: 'a valid secret in the query (contract §3)',
        async ask(visitor) {
          const secret = await working(visitor)
          return await visitor.call('GET', `/models?api_key=${secret}&key=${secret}`)
        },
      },
    ],
  },
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    cases: [
      ...everywhere(() => bearer(newSecret())),
      {
        what: 'a secret without its last character',
        ask: async (visitor) =>
          await visitor.call(
            'GET',
            '/key',
            undefined,
            bearer((await working(visitor)).slice(0, -1)),
          ),
      },
    ],
  },
  api_key_revoked: {
    status: 401,
    type: 'authentication_error',
    cases: inState('revoked', ({ scene }, id) => scene.gateway.verb('keys.revoke', { key: id })),
  },
  api_key_disabled: {
    status: 401,
    type: 'authentication_error',
    cases: inState('disabled', ({ scene }, id) =>
      scene.gateway.verb('keys.edit', { key: id, disabled: true }),
    ),
  },
  api_key_expired: {
    status: 401,
    type: 'authentication_error',
    cases: inState('expired', letExpire),
  },
  model_not_allowed: {
    status: 403,
    type: 'permission_error',
    cases: [
      outside('a chat (contract §3)', (visitor) => visitor.chat(), 'demo/echo'),
      outside('a model that does not exist either', (v) => v.chat({ model: 'none/x' }), 'none/x'),
      outside('one card', (visitor) => visitor.call('GET', '/models/demo/echo'), 'demo/echo'),
    ],
  },
  provisioning_key_required: {
    status: 403,
    type: 'permission_error',
    cases: [
      asOrdinary('POST', '/keys', { name: 'minted' }),
      asOrdinary('GET', '/keys'),
      asOrdinary('GET', '/keys/key_x'),
      asOrdinary('PATCH', '/keys/key_x', { rpm_limit: null }),
      asOrdinary('DELETE', '/keys/key_x'),
    ],
  },
  provisioning_key_not_allowed: {
    status: 403,
    type: 'permission_error',
    cases: [
      asProvisioning('POST', '/chat/completions', '{'),
      asProvisioning('GET', '/models'),
      asProvisioning('GET', '/models/demo/echo'),
      asProvisioning('GET', '/generation?id=gen-x'),
      asProvisioning('PATCH', '/keys/SELF', { expires_at: null }),
      asProvisioning('DELETE', '/keys/SELF'),
    ],
  },
  key_not_found: {
    status: 404,
    type: 'not_found_error',
    cases: [
      about('GET', 'key_00000000000000000000000000'),
      about('PATCH', 'key_00000000000000000000000000', { rpm_limit: 5 }),
      about('DELETE', 'key_00000000000000000000000000'),
      about('GET', '%25'),
    ],
  },
  key_revoked: {
    status: 409,
    type: 'invalid_request_error',
    cases: [
      {
        what: 'a change of a revoked key',
        async ask(visitor) {
          const { id } = await visitor.key()
          await visitor.key({ kind: 'provisioning' })
          const gone = await visitor.call('DELETE', `/keys/${id}`)
          if (gone.status !== 200) return gone
          return await visitor.call('PATCH', `/keys/${id}`, { rpm_limit: 5 })
        },
      },
    ],
  },
  idempotency_conflict: {
    status: 409,
    type: 'invalid_request_error',
    cases: [
      {
        what: 'while the first request runs',
        param: 'Idempotency-Key',
        taken: 1,
        spent: true,
        async ask(visitor) {
          await visitor.key()
          const talk = { model: 'demo/lorem', user: 'rate-5', stream: true }
          await visitor.keepTalking(talk, { 'idempotency-key': 'one' })
          return await visitor.chat(talk, { 'idempotency-key': 'one' })
        },
      },
      {
        what: 'with another body',
        param: 'Idempotency-Key',
        taken: 1,
        spent: true,
        shouldRetry: 'false',
        async ask(visitor) {
          await visitor.key()
          const first = await visitor.chat({}, { 'idempotency-key': 'two' })
          await first.text()
          return await visitor.chat({ temperature: 1 }, { 'idempotency-key': 'two' })
        },
      },
    ],
  },
} satisfies Record<string, Row>
