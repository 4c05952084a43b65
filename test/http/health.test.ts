// Health endpoints and CORS, both without a key.
import { expect, test } from 'vitest'
import { furnish, openApi } from '#test/support/furnish.ts'

const deps = await furnish()

test('liveness reads neither the store nor a provider', async () => {
  const { get } = openApi({
    ...deps,
    store: new Proxy(deps.store, {
      get: () => {
        throw new Error('the store was touched')
      },
    }),
  })
  const response = await get('/healthz')
  expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }])
})

const health = async (writable: boolean, schemaVersion: number) => ({
  ...(await deps.store.health({ checkIntegrity: false })),
  writable,
  schemaVersion,
  newestSchemaVersion: 1,
  hasMasterKey: true,
})

test.each([
  ['ready', () => health(true, 1), false, 200, [true, true, true]],
  ['draining', () => health(true, 1), true, 503, [true, true, false]],
  ['not writable', () => health(false, 1), false, 503, [false, true, true]],
  ['of an old schema', () => health(true, 0), false, 503, [true, false, true]],
  ['broken', () => Promise.reject(new Error('disk')), false, 503, [false, false, true]],
] as const)('%s', async (_, read, draining, status, checks) => {
  const { get } = openApi(
    { ...deps, store: { ...deps.store, health: read } },
    { leaving: { isUnready: draining, isDraining: false } },
  )
  const response = await get('/readyz')
  expect(response.status).toBe(status)
  expect(await response.json()).toEqual({
    status: status === 200 ? 'ok' : 'unavailable',
    checks: { store_writable: checks[0], schema_current: checks[1], accepting_requests: checks[2] },
  })
})

test('a page of any origin may call, and may read every header that the gateway sends', async () => {
  const { app, get } = openApi(deps)
  const preflight = await app.request('http://gateway.test/v1/chat/completions', {
    method: 'OPTIONS',
    headers: {
      Origin: 'https://page.example',
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization,content-type,x-stainless-lang',
    },
  })
  expect(preflight.status).toBe(204)
  const { headers } = preflight
  expect(headers.get('access-control-allow-origin')).toBe('*')
  expect(headers.get('access-control-allow-methods')).toContain('POST')
  expect(headers.get('access-control-allow-headers')).toBe(
    'authorization,content-type,x-stainless-lang',
  )
  expect(headers.get('x-request-id')).toMatch(/^req_/)
  const refused = await get('/v1/key', { Origin: 'https://page.example' })
  expect(refused.headers.get('access-control-allow-origin')).toBe('*')
  const exposed = refused.headers.get('access-control-expose-headers')!.toLowerCase().split(', ')
  expect(exposed).toEqual(
    expect.arrayContaining([
      ...['limit', 'remaining', 'reset'].flatMap((what) => [
        `x-ratelimit-${what}-minute`,
        `x-ratelimit-${what}-day`,
      ]),
      'retry-after',
      'x-request-id',
      'x-generation-id',
    ]),
  )
})

test('a preflight cannot inject a response header', async () => {
  const { app } = openApi(deps)
  const preflight = await app.request('http://gateway.test/v1/key', {
    method: 'OPTIONS',
    headers: { 'Access-Control-Request-Headers': 'a; b: c' },
  })
  expect(preflight.headers.get('access-control-allow-headers')).toMatch(/^Authorization, /)
})
