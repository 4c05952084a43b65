// The document and the gateway cover each other: no route, error code, header or field of a form is in one of them alone.
import { expect, onTestFinished, test } from 'vitest'
import { ERROR_CODES, type ErrorCode } from '#domain/errors.ts'
import { renderDocument } from '#http/openapi/document.ts'
import { OPERATOR_CODES } from '#http/openapi/schemas/error.ts'
import { amendmentForm, issueForm } from '#http/read/key-request.ts'
import { EXPOSED_HEADERS } from '#http/request-context.ts'
import { chatForm } from '#http/surfaces/chat/read-request.ts'
import { furnish, openApi } from '#test/support/furnish.ts'
import type { OpenApi } from '#test/support/openapi.ts'

const document: OpenApi = JSON.parse(JSON.stringify(renderDocument('1')))

/** As the document writes the addresses of the router. */
const WRITTEN: Readonly<Record<string, string>> = {
  ':id{.+}': '{provider}/{model}',
  ':id': '{id}',
}

test('every route is in it, under every prefix, and nothing else is', async () => {
  const deps = await furnish()
  onTestFinished(() => deps.store.close())
  const served = openApi(deps)
    .app.routes.filter(({ method }) => method !== 'OPTIONS')
    .map(({ method, path }) => {
      const open = path.indexOf(':')
      const end = open === -1 ? '' : path.slice(open)
      return `${method} ${open === -1 ? path : path.slice(0, open)}${end && WRITTEN[end]}`
    })
  const told = Object.entries<OpenApi>(document.paths).flatMap(([path, item]) =>
    (item.servers ?? document.servers).flatMap(({ url }: OpenApi) =>
      ['get', 'post', 'put', 'patch', 'delete']
        .filter((method) => item[method])
        .map((method) => `${method.toUpperCase()} ${url.replace(/\/$/, '')}${path}`),
    ),
  )
  expect(told.toSorted()).toEqual(served.toSorted())
})

test('every code of the gateway is in it, at its own status, and no other', () => {
  const listed = new Map<string, Set<number>>()
  const note = (status: string | number, response: OpenApi): void => {
    const { properties } = response.content?.['application/json']?.schema?.allOf?.[1] ?? {}
    const { code, details } = properties?.error.properties ?? {}
    for (const one of (code ?? details?.properties.code)?.enum ?? []) {
      // The Messages envelope has some at a status of its own: test/http/error-families.test.ts.
      const usual = code ? Number(status) : ERROR_CODES[one as ErrorCode][0]
      listed.set(one, (listed.get(one) ?? new Set()).add(usual))
    }
  }
  for (const item of Object.values<OpenApi>(document.paths)) {
    for (const operation of Object.values<OpenApi>(item)) {
      for (const [status, response] of Object.entries(operation.responses ?? {}))
        note(status, response)
    }
  }
  note(404, document.components.responses.RouteNotFound)
  note(405, document.components.responses.MethodNotAllowed)
  note(426, document.components.responses.WebSocketNotSupported)

  const operators: readonly string[] = OPERATOR_CODES
  const ours = Object.entries(ERROR_CODES).filter(([code]) => !operators.includes(code))
  const expected = Object.fromEntries(ours.map(([code, [status]]) => [code, [status]]))
  const found = Object.fromEntries([...listed].map(([code, statuses]) => [code, [...statuses]]))
  expect(found).toEqual(expected)
  expect(document.components.schemas.ErrorFields.properties.code.enum.toSorted()).toEqual(
    ours.map(([code]) => code).toSorted(),
  )
})

test('every header that a page may read is in it', () => {
  expect(Object.keys(document.components.headers)).toEqual(
    expect.arrayContaining(EXPOSED_HEADERS.split(', ')),
  )
})

test.each([
  ['ChatRequest', chatForm.shape, []],
  ['KeyIssue', issueForm.shape, ['kind']],
  ['KeyAmendment', amendmentForm.shape, []],
] as const)('every field of the form that validates is in %s, in words', (name, shape, beside) => {
  const { properties, additionalProperties } = document.components.schemas[name]
  const fields = [...Object.keys(shape), ...beside]
  // Of a chat others are passed on; of a key there are no others.
  if (additionalProperties === false) {
    expect(Object.keys(properties).toSorted()).toEqual(fields.toSorted())
  } else expect(Object.keys(properties)).toEqual(expect.arrayContaining(fields))
  for (const field of fields.filter((one) => one !== 'messages')) {
    expect(properties[field].description, field).toMatch(/\S/)
  }
})
