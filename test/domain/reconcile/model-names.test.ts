/** A bill names the snapshot that an alias led to. */
import { expect, test } from 'vitest'
import { groupNames } from '#domain/reconcile/model-names.ts'

const pairs = (ours: string[], theirs: string[], known = {}): boolean[] => {
  const shared = groupNames(ours, theirs, known)
  return theirs.map((name, at) => shared(name) === shared(ours[at] ?? ''))
}

test.each([
  ['gpt-5', 'gpt-5-2025-08-07'],
  ['claude-sonnet-4-5', 'claude-sonnet-4-5-20250929'],
  ['claude-opus-4-5@20251101', 'claude-opus-4-5@20251101'],
  ['claude-3-5-haiku-latest', 'claude-3-5-haiku-20241022'],
])('%s is %s', (ours, theirs) => {
  expect(pairs([ours], [theirs])).toEqual([true])
})

test.each([
  ['gpt-5', 'gpt-5-mini-2025-08-07'],
  ['gpt-4o-2024-05-13', 'gpt-4o-2024-08-06'].toReversed(),
  ['o1', 'o1-pro'],
])('%s is not %s', (ours = '', theirs = '') => {
  const shared = groupNames([ours, theirs], [theirs, ours])
  expect(shared(ours)).not.toBe(shared(theirs))
})

test('a snapshot and its alias, both asked for, are one on the bill', () => {
  const shared = groupNames(['gpt-4o', 'gpt-4o-2024-08-06'], ['gpt-4o-2024-08-06'])
  expect(shared('gpt-4o')).toBe(shared('gpt-4o-2024-08-06'))
})

test('what an operator says goes before', () => {
  const known = { 'anthropic/claude-4.5-sonnet-20250929': 'anthropic/claude-sonnet-4.5' }
  expect(
    pairs(['anthropic/claude-sonnet-4.5'], ['anthropic/claude-4.5-sonnet-20250929'], known),
  ).toEqual([true])
})
