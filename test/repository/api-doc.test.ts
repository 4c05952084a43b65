// docs/api.md tells what /openapi.json tells: its tables are those that would be drawn now, and none is missing.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderDocument } from '#http/openapi/document.ts'
import { fillTables } from '#scripts/api-doc/tables.ts'
import type { OpenApi } from '#test/support/openapi.ts'

const page = readFileSync('docs/api.md', 'utf8')
const document: OpenApi = JSON.parse(JSON.stringify(renderDocument('1')))

test('its tables are drawn from the document; if not: npx bun scripts/api-doc.ts', () => {
  expect(page.split('\n')).toEqual(fillTables(page, document).split('\n'))
})

test('every schema has its heading and its table, and the rest is there once', () => {
  const marks = [...page.matchAll(/^<!-- (\w+)(?: (\w+))?.* -->$/gm)]
  const of = (kind: string) => marks.filter(([, one]) => one === kind).map(([, , name]) => name)
  // A list of messages is told in words.
  const schemas = Object.keys(document.components.schemas).filter((name) => name !== 'Messages')
  expect(of('fields').toSorted()).toEqual(schemas.toSorted())
  const headings = [...page.matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
  expect(headings).toEqual(expect.arrayContaining([...schemas, 'Messages']))
  for (const kind of ['paths', 'parameters', 'headers', 'codes']) expect(of(kind)).toHaveLength(1)
})

test('every operation, parameter, header and code stands in a table', () => {
  const cells = new Set(
    [...page.matchAll(/^\|(?: \d+ \|)? `([^`]+)` \|/gm)].map(([, cell]) => cell),
  )
  const operations = Object.entries<OpenApi>(document.paths).flatMap(([path, item]) =>
    ['get', 'post', 'patch', 'delete']
      .filter((method) => item[method])
      .map((method) => `${method.toUpperCase()} ${item.servers ? '' : '/v1'}${path}`),
  )
  const { parameters, headers, schemas } = document.components
  const wanted = [
    ...operations,
    ...Object.values<OpenApi>(parameters)
      .filter((one) => one.in !== 'path')
      .map((one) => one.name),
    ...Object.keys(headers),
    ...schemas.ErrorFields.properties.code.enum,
  ]
  expect(wanted.filter((one) => !cells.has(one))).toEqual([])
})
