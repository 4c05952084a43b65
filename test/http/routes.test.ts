// Every route and who may call it: without a key, with an ordinary key, with a provisioning key (traps T7).
import { expect, test } from 'vitest'
import { hello } from '#test/support/furnish.ts'
import { bearerOf, openKeyCounter } from './key-counter.ts'

/** The status for each of the three; a route that is not listed here fails the test. */
const WHO = {
  'POST /chat/completions': [401, 200, 403],
  'POST /embeddings': [401, 400, 403],
  'POST /rerank': [401, 400, 403],
  'POST /responses': [401, 200, 403],
  'POST /messages': [401, 200, 403],
  'POST /messages/count_tokens': [401, 200, 403],
  'GET /models': [401, 200, 403],
  'GET /models/:id{.+}': [401, 200, 403],
  'GET /key': [401, 200, 200],
  'GET /generation': [401, 404, 403],
  'POST /keys': [401, 403, 201],
  'GET /keys': [401, 403, 200],
  'GET /keys/:id': [401, 403, 200],
  'PATCH /keys/:id': [401, 403, 200],
  'DELETE /keys/:id': [401, 403, 200],
} as const

const OPEN = ['GET /', 'GET /openapi.json', 'GET /healthz', 'GET /readyz']

const BODIES: Readonly<Record<string, unknown>> = {
  'POST /chat/completions': hello(),
  'POST /embeddings': { model: 'demo/echo', input: 'hi' },
  'POST /rerank': { model: 'demo/echo', query: 'q', documents: ['d'] },
  'POST /responses': { model: 'demo/echo', input: 'hi' },
  'POST /messages': hello(),
  'POST /messages/count_tokens': hello(),
  'POST /keys': { name: 'x' },
  'PATCH /keys/:id': { rpm_limit: 1_000 },
}

test('T7: every route is listed, under both prefixes', async () => {
  const { api } = await openKeyCounter()
  const routes = api.app.routes
    .filter(({ method }) => method !== 'OPTIONS')
    .map(({ method, path }) => `${method} ${path}`)
  const listed = Object.keys(WHO).flatMap((route) =>
    ['/v1', '/api/v1'].map((prefix) => route.replace(' ', ` ${prefix}`)),
  )
  expect(routes.toSorted()).toEqual([...listed, ...OPEN].toSorted())
})

test.each(Object.entries(WHO))('T7: %s: %j', async (route, expected) => {
  const { ask, boss, mint } = await openKeyCounter()
  const [method = '', pattern = ''] = route.split(' ')
  const ordinary = await mint()
  for (const prefix of ['/v1', '/api/v1']) {
    const { id } = await mint({ name: 'subject' })
    const path = prefix + pattern.replace(':id{.+}', 'demo/echo').replace(':id', id)
    const query = pattern === '/generation' ? '?id=gen-01k3e5q9zzzzzzzzzzzzzzzzzz' : ''
    const statuses: number[] = []
    for (const bearer of [{}, bearerOf(ordinary.key), boss.bearer]) {
      const { status, body } = await ask(method, path + query, BODIES[route], bearer)
      statuses.push(status)
      if (status === 403) {
        expect(body.error.code ?? body.error.details.code).toBe(
          bearer === boss.bearer ? 'provisioning_key_not_allowed' : 'provisioning_key_required',
        )
      }
    }
    expect(statuses).toEqual(expected)
  }
})
