// Reads an ECDSA signature, two integers in DER. Stands in for a reader of all of ASN.1, which is three times as large as the
// library that needs it for this alone.

const SEQUENCE = 0x30
const INTEGER = 0x02
/** A length of up to so many bytes is written in one; that of P-521, the longest, may take a second. */
const SHORT = 0x80
const ONE_BYTE_LENGTH = 0x81

interface Ecdsa {
  readonly r: ArrayBuffer
  readonly s: ArrayBuffer
}

/** @throws if it is anything else, or not in its one spelling */
export function readEcdsa(signature: Uint8Array): Ecdsa {
  const [both, afterBoth] = readPart(signature, SEQUENCE)
  const [r, afterR] = readPart(both, INTEGER)
  const [s, afterS] = readPart(afterR, INTEGER)
  if (afterBoth.length + afterS.length > 0) throw malformed()
  for (const integer of [r, s]) checkInteger(integer)
  return { r: new Uint8Array(r).buffer, s: new Uint8Array(s).buffer }
}

/** Its content, and what follows it. */
function readPart(bytes: Uint8Array, tag: number): readonly [Uint8Array, Uint8Array] {
  const [found, first = 0, second = 0] = bytes
  const isLong = first === ONE_BYTE_LENGTH
  if (found !== tag || (isLong ? second < SHORT : first >= SHORT)) throw malformed()
  const begin = isLong ? 3 : 2
  const end = begin + (isLong ? second : first)
  if (end > bytes.length) throw malformed()
  return [bytes.subarray(begin, end), bytes.subarray(end)]
}

/** Positive, with no byte more than that takes. */
function checkInteger([first, second = 0]: Uint8Array): void {
  if (first === undefined || first >= SHORT || (first === 0 && second < SHORT)) throw malformed()
}

const malformed = (): Error => new Error('the signature is not two integers in DER')
