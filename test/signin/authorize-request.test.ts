// Authorization requests that the gateway accepts although the protocol library does not.
import { describe, expect, test } from 'vitest'
import { withSpacedScope } from '#signin/authorize-request.ts'

const spaced = (scope: string): string | null =>
  withSpacedScope(new URLSearchParams({ scope })).get('scope')

describe('scopes separated by an encoded plus', () => {
  test.each([
    ['openid+email+profile', 'openid email profile'],
    ['openid', 'openid'],
    ['+', ' '],
    ['', ''],
    ['openid email+profile', 'openid email+profile'],
  ])('%j becomes %j', (sent, expected) => {
    expect(spaced(sent)).toBe(expected)
  })

  test('are left alone when there are several, or none', () => {
    const twice = new URLSearchParams('scope=a%2Bb&scope=c%2Bd')
    expect(withSpacedScope(twice)).toBe(twice)
    const none = new URLSearchParams('state=a%2Bb')
    expect(withSpacedScope(none)).toBe(none)
  })

  test('are split in linear time, however many there are', () => {
    const scope = `${'+'.repeat(100_000)} x`
    const began = performance.now()
    expect(spaced(scope)).toBe(scope)
    expect(performance.now() - began).toBeLessThan(1_000)
  })
})
