// The smaller tier proves every promise and every trap: what names their proofs names no test that only the full one runs.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (file: string): string => readFileSync(file, 'utf8')

const promises = /^## What it promises$([\s\S]*?)^## /m.exec(read('README.md'))?.[1] ?? ''

/** The tests that the README's promises name, and those that the rows of docs/traps.md do. */
const PROOFS = new Set([
  ...[...promises.matchAll(/\((test\/[^)]+)\)/g)].map(([, file = '']) => file),
  ...[...read('docs/traps.md').matchAll(/^\| T\d+ \| .+? \| (.+) \|$/gm)].flatMap(
    ([, where = '']) => [...where.matchAll(/`([^`]+)`/g)].map(([, file]) => `test/${file}`),
  ),
])

test('there are many', () => {
  expect(promises.match(/^\| /gm)?.length).toBeGreaterThan(7)
  expect(PROOFS.size).toBeGreaterThan(40)
})

test.each([...PROOFS])('%s leaves no test to the full tier, only sizes', (file) => {
  expect(read(file)).not.toMatch(/If\(!?FULL\)|\bif \(!?FULL\)/)
})
