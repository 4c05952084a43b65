// The suite's own ground: Bun underneath, SQLite at hand, SQL and JSON imported as the product does.
import { Database } from 'bun:sqlite'
import { expect, test } from 'vitest'
import project from '../../package.json' with { type: 'json' }

test('tests run under Bun, with its SQLite', () => {
  expect(process.versions['bun']).toBeDefined()
  const row = new Database(':memory:').query('select 1 as one').get()
  expect(row).toEqual({ one: 1 })
})

test('a JSON import is data', () => {
  expect(project.name).toBe('gatewayctl')
})
