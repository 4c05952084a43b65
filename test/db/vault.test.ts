// What the vault seals, only the same key opens, unchanged and in the same place.
import { expect, test } from 'vitest'
import { openVault } from '#db/vault.ts'

const vault = openVault(new Uint8Array(32).fill(1))
const sealed = vault.seal('sk-secret', 'providers|acme')
const unreadable = expect.objectContaining({ code: 'internal_error' })
const openError = (open: () => string) => {
  try {
    return open()
  } catch (error) {
    return error
  }
}

test.each(['sk-secret', '', 'ключ 🔑', 'x'.repeat(10_000)])('gives %.20j back', (plaintext) => {
  expect(vault.open(vault.seal(plaintext, 'place'), 'place')).toBe(plaintext)
})

test('the same key opened again reads it; another does not, and says what to do', () => {
  expect(openVault(new Uint8Array(32).fill(1)).open(sealed, 'providers|acme')).toBe('sk-secret')
  const other = openVault(new Uint8Array(32).fill(2))
  const error = openError(() => other.open(sealed, 'providers|acme'))
  expect(error).toMatchObject({ code: 'internal_error', details: { hint: expect.any(String) } })
})

test('a row moved to another place is unreadable', () => {
  expect(openError(() => vault.open(sealed, 'providers|evil'))).toEqual(unreadable)
})

test('changed anywhere, it is unreadable', () => {
  for (let place = 0; place < sealed.length; place++) {
    const other = sealed[place] === 'A' ? 'Q' : 'A'
    const changed = sealed.slice(0, place) + other + sealed.slice(place + 1)
    if (Buffer.from(changed.split('.')[3] ?? '', 'base64url').equals(bodyOf(sealed))) {
      // The unused bits of the last character: the bytes are the same, so nothing was changed.
      if (changed.startsWith(sealed.slice(0, sealed.lastIndexOf('.')))) continue
    }
    expect(
      openError(() => vault.open(changed, 'providers|acme')),
      `place ${place}`,
    ).toEqual(unreadable)
  }
})

test.each([
  '',
  'v1',
  'v1...',
  'v2.a.b.c',
  sealed.slice(0, -8),
  `${sealed}.x`.slice(0, 20),
  'garbage',
])('%j is unreadable', (text) => {
  expect(openError(() => vault.open(text, 'providers|acme'))).toEqual(unreadable)
})

test('sealing twice never gives the same text, nor shows the plaintext', () => {
  expect(vault.seal('sk-secret', 'providers|acme')).not.toBe(sealed)
  expect(sealed).not.toContain('secret')
  expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('secret')
})

test.each([0, 1, 16, 31, 33])('a master key of %i bytes is refused', (bytes) => {
  expect(() => openVault(new Uint8Array(bytes))).toThrow('32 bytes')
})

function bodyOf(text: string): Buffer {
  return Buffer.from(text.split('.')[3] ?? '', 'base64url')
}
