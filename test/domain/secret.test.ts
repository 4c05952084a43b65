// A secret is 256 random bits with a checksum that catches a typing error before any look-up.
import { describe, expect, test } from 'vitest'
import { holdsSecret, labelOf, newSecret, readSecret } from '#domain/secret.ts'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

test('has the shape that scanners look for', () => {
  for (let i = 0; i < 1_000; i++) expect(newSecret()).toMatch(/^if-[0-9A-Za-z]{49}$/)
})

test('is read back as itself and is never minted twice', () => {
  const minted = new Set(Array.from({ length: 2_000 }, newSecret))
  expect(minted.size).toBe(2_000)
  for (const secret of minted) expect(readSecret(secret)).toBe(secret)
})

test('every character of the body varies: no bits are lost on the way', () => {
  const minted = Array.from({ length: 500 }, newSecret)
  for (let place = 4; place < 46; place++) {
    expect(new Set(minted.map((secret) => secret[place])).size).toBeGreaterThan(30)
  }
})

test('is found wherever it stands in a text', () => {
  const secret = newSecret()
  for (const text of [
    secret,
    `if-${secret}`,
    `Bearer ${secret}`,
    `a.${secret}:1`,
    `if-if-${secret}x`,
  ]) {
    expect(holdsSecret(text), text).toBe(true)
  }
  for (const text of ['', 'if-', 'if-'.repeat(99), secret.slice(0, -1), secret.slice(1)]) {
    expect(holdsSecret(text), text).toBe(false)
  }
})

test('ends in the CRC-32 of all before, as a scanner would compute it', () => {
  for (const secret of Array.from({ length: 100 }, newSecret)) {
    let value = Bun.hash.crc32(secret.slice(0, -6))
    let digits = ''
    for (; value > 0; value = Math.floor(value / 62)) digits = BASE62[value % 62] + digits
    expect(secret.slice(-6)).toBe(digits.padStart(6, '0'))
  }
})

test('every single changed character is caught', () => {
  for (const secret of Array.from({ length: 20 }, newSecret)) {
    for (let place = 3; place < secret.length; place++) {
      for (const other of BASE62) {
        if (other === secret[place]) continue
        const typo = secret.slice(0, place) + other + secret.slice(place + 1)
        expect(readSecret(typo), typo).toBeUndefined()
      }
    }
  }
})

test('every pair of neighbours typed in the wrong order is caught', () => {
  for (const secret of Array.from({ length: 200 }, newSecret)) {
    for (let place = 3; place < secret.length - 1; place++) {
      const [a = '', b = ''] = secret.slice(place, place + 2)
      if (a === b) continue
      const typo = secret.slice(0, place) + b + a + secret.slice(place + 2)
      expect(readSecret(typo), typo).toBeUndefined()
    }
  }
})

describe('what is no secret', () => {
  const secret = newSecret()
  test.each([
    ['one character short', secret.slice(0, -1)],
    ['one character long', `${secret}0`],
    ['a space before', ` ${secret.slice(1)}`],
    ['a line break after', `${secret.slice(0, -1)}\n`],
    ['another prefix', `sk-${secret.slice(3)}`],
    ['a capital prefix', `IF-${secret.slice(3)}`],
    ['its body alone', secret.slice(3)],
    ['nothing', ''],
    ['a quote inside', `${secret.slice(0, 20)}'${secret.slice(21)}`],
    ['a NUL inside', `${secret.slice(0, 20)}\0${secret.slice(21)}`],
    ['a megabyte', 'if-'.padEnd(1 << 20, 'a')],
    ['letters beyond ASCII', `${secret.slice(0, 20)}é${secret.slice(21)}`],
  ])('%s', (_, token) => {
    expect(readSecret(token)).toBeUndefined()
  })
})

test('its label shows the first six and the last four, and too little to guess the rest', () => {
  const secret = newSecret()
  expect(labelOf(secret)).toBe(`${secret.slice(0, 9)}…${secret.slice(-4)}`)
  expect(labelOf(secret)).toHaveLength(14)
})
