// The reader of ECDSA signatures that the binary has instead of one for all of ASN.1: what it reads verifies, and it reads nothing else.
import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { readEcdsa } from '#scripts/compile/ecdsa-signature.ts'

/** Of exactly so many bytes. */
function padded(integer: ArrayBuffer, bytes: number): Buffer {
  const text = Buffer.from(integer)
    .toString('hex')
    .replace(/^(?:00)+/, '')
  return Buffer.from(text.padStart(2 * bytes, '0'), 'hex')
}

test.each([
  ['P-256', 32],
  ['P-384', 48],
  ['P-521', 66],
])('signatures of %s are read', (namedCurve, bytes) => {
  const { privateKey, publicKey: key } = generateKeyPairSync('ec', { namedCurve })
  const lengths = new Set<number>()
  for (let nth = 0; nth < 300; nth++) {
    const data = Buffer.from(String(nth))
    const signature = sign('sha256', data, privateKey)
    const { r, s } = readEcdsa(signature)
    const plain = Buffer.concat([padded(r, bytes), padded(s, bytes)])
    expect(verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, plain)).toBe(true)
    lengths.add(signature.length)
  }
  // Short ones, and those with a leading zero, were among them.
  expect(lengths.size).toBeGreaterThan(2)
})

test.each([
  ['nothing', ''],
  ['another tag', '3106020101020101'],
  ['one integer', '3003020101'],
  ['three integers', '3009020101020101020101'],
  ['more after it', '300602010102010100'],
  ['less than it says', '30060201010201'],
  ['an integer that is longer than it says', '3006020201020101'],
  ['an empty integer', '30050200020101'],
  ['a negative integer', '3006020181020101'],
  ['a zero too many', '300702020001020101'],
  ['a length in the longer spelling', '308106020101020101'],
  ['a length of two bytes', '30820006020101020101'],
])('%s is refused', (_what, text) => {
  expect(() => readEcdsa(Buffer.from(text, 'hex'))).toThrow('not two integers in DER')
})
