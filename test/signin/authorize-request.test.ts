// Authorization requests that the gateway accepts although the protocol library does not.
import { describe, expect, test } from 'vitest'
import { withModeOfObject, withSpacedScope } from '#signin/authorize-request.ts'

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

describe('the response mode of a request object, which is refused', () => {
  const objectOf = (payload: string) => `e30.${Buffer.from(payload).toString('base64url')}.`
  const modeOf = (query: Readonly<Record<string, string>>): string | null =>
    withModeOfObject(new URLSearchParams(query)).get('response_mode')

  test.each([
    ['{"response_mode":"form_post"}', 'form_post'],
    ['{"response_mode":7}', null],
    ['{}', null],
    ['null', null],
    ['{"response_mode"', null],
  ])('of %s is %s', (payload, expected) => {
    expect(modeOf({ request: objectOf(payload) })).toBe(expected)
  })

  test.each(['', 'x', 'a.b.c', '..', `${'.'.repeat(10_000)}`])('of %j is none', (request) => {
    expect(modeOf({ request })).toBeNull()
  })

  test('gives way to the one beside it', () => {
    const request = objectOf('{"response_mode":"form_post"}')
    expect(modeOf({ request, response_mode: 'query' })).toBe('query')
  })
})
