/** The operator's door: verbs by name, JSON in and out, errors that carry their hint, and no fault's own words. */
import { expect, test } from 'vitest'
import { operatorApp } from '#operator/app.ts'
import { openFurnished, type TestOperatorDeps } from './deps.ts'

const post = async (deps: TestOperatorDeps, path: string, body: string) => {
  const faults: unknown[] = []
  const app = operatorApp(deps, (cause) => faults.push(cause))
  const response = await app.request(path, { method: 'POST', body })
  return { status: response.status, body: await response.json(), faults }
}

test('a verb answers with its record', async () => {
  const deps = await openFurnished()
  const { status, body } = await post(deps, '/verbs/accounts.list', '{}')
  expect(status).toBe(200)
  expect(body).toMatchObject([{ name: 'default', balance_usd: '0' }])
})

test.each([
  ['/verbs/keys.show', '{"key":"nobody"}', 404, 'key_not_found', 'gatewayctl keys list'],
  ['/verbs/keys.show', '{', 400, 'invalid_json', null],
  ['/verbs/keys.show', '{"key":"a","x":1}', 400, 'invalid_request', null],
  ['/verbs/keys.list', '[]', 400, 'invalid_request', null],
  ['/verbs/keys.list', 'null', 400, 'invalid_request', null],
  ['/verbs/keys.list', '{"x":1}', 400, 'invalid_request', null],
  ['/verbs/keys.list', '{"include_revoked":1}', 400, 'invalid_request', null],
  ['/verbs/keys.list', '{"kind":"both"}', 400, 'invalid_request', null],
  ['/verbs/keys.burn', '{}', 404, 'route_not_found', expect.stringContaining('restart')],
  ['/verbs/__proto__', '{}', 404, 'route_not_found', expect.stringContaining('restart')],
  ['/', '{}', 404, 'route_not_found', null],
])('%s %s is %i %s', async (path, sent, status, code, hint) => {
  const answer = await post(await openFurnished(), path, sent)
  expect(answer.status).toBe(status)
  expect(answer.body).toMatchObject({ error: { code, hint } })
  expect(answer.faults).toEqual([])
})

test('a fault is logged with its cause and answered without it', async () => {
  const deps = await openFurnished()
  const broken = { ...deps.store, accounts: undefined } as never
  const { status, body, faults } = await post(
    { ...deps, store: broken },
    '/verbs/accounts.list',
    '{}',
  )
  expect(status).toBe(500)
  expect(JSON.stringify(body)).not.toContain('undefined')
  expect(faults).toHaveLength(1)
})
