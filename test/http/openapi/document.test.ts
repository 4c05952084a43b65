// The document itself: valid OpenAPI 3.1, complete, served without a key, and printed by `help`.
import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, onTestFinished, test } from 'vitest'
import { renderDocument } from '#http/openapi/document.ts'
import { furnish, openApi } from '#test/support/furnish.ts'
import { type OpenApi, resolve } from '#test/support/openapi.ts'

const document: OpenApi = JSON.parse(JSON.stringify(renderDocument('1.2.3')))

test('is valid OpenAPI 3.1', async () => {
  const validator = new Validator()
  expect(await validator.validate(structuredClone(document))).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
})

test('states the version of the program', () => {
  expect(document.info).toMatchObject({ title: 'gatewayctl', version: '1.2.3' })
})

test('every reference resolves, and every component is referenced', () => {
  const references = new Set(
    [...JSON.stringify(document).matchAll(/"#(\/[^"]+)"/g)].map(([, at]) => at),
  )
  for (const at of references) expect(resolve(document, at ?? ''), at).toBeDefined()
  const { responses, securitySchemes, ...components } = document.components
  for (const [kind, members] of Object.entries<object>(components)) {
    for (const name of Object.keys(members)) {
      expect(references, `nothing refers to ${name}`).toContain(`/components/${kind}/${name}`)
    }
  }
  expect(Object.keys(securitySchemes)).toEqual(Object.keys(document.security[0]))
  expect(Object.keys(responses)).toEqual([
    'Preflight',
    'RouteNotFound',
    'MethodNotAllowed',
    'WebSocketNotSupported',
  ])
})

const operations = Object.entries<OpenApi>(document.paths).flatMap(([path, item]) =>
  ['get', 'post', 'patch', 'delete'].flatMap((method) =>
    item[method] ? [{ path, ...item[method] }] : [],
  ),
)

test("every operation has a unique id, OpenAI's where it has one", () => {
  const ids = operations.map(({ operationId }) => operationId)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toEqual(
    expect.arrayContaining(['createChatCompletion', 'listModels', 'retrieveModel']),
  )
})

test('every path parameter is declared, and every tag is described', () => {
  const tags = document.tags.map(({ name }: OpenApi) => name)
  for (const { path, parameters, tags: own } of operations) {
    expect(tags).toEqual(expect.arrayContaining(own))
    const told = parameters
      .map(({ $ref }: OpenApi) => resolve(document, $ref.slice(1)))
      .filter((parameter: OpenApi) => parameter.in === 'path')
      .map(({ name }: OpenApi) => `{${name}}`)
    expect(told).toEqual(path.match(/\{\w+\}/g) ?? [])
  }
})

test('only the health and document endpoints need no key', () => {
  const open = operations.filter(({ security }) => security?.length === 0).map(({ path }) => path)
  expect(open.toSorted()).toEqual(['/', '/healthz', '/openapi.json', '/readyz'])
})

test('is served unchanged without a key', async () => {
  const deps = await furnish()
  onTestFinished(() => deps.store.close())
  const { get, app } = openApi(deps, { version: '1.2.3' })
  const answer = await get('/openapi.json')
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('application/json')
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  expect(await answer.json()).toEqual(document)
  expect((await app.request('/openapi.json', { method: 'HEAD' })).status).toBe(200)
  expect((await app.request('/openapi.json', { method: 'POST' })).status).toBe(405)
  expect((await get('/v1/openapi.json')).status).toBe(404)
})
