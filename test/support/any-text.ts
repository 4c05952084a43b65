/** Any text, for properties: cheap to make, where fast-check's own `unit: 'binary'` first lists every code point there is. */
import fc from 'fast-check'

const SURROGATES = 0x8_00
const character = fc
  .nat(0x10_ff_ff - SURROGATES)
  .map((place) => String.fromCodePoint(place < 0xd8_00 ? place : place + SURROGATES))

/** Of every character but half a surrogate pair. */
export const anyText = (bounds: Omit<fc.StringConstraints, 'unit'> = {}): fc.Arbitrary<string> =>
  fc.string({ ...bounds, unit: character })
