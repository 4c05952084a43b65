/** A small landscape derived from a text: a sky, a sun or moon, and three ranges of hills. */
import type { Paint } from './png.ts'

type Colour = readonly [red: number, green: number, blue: number]

/** Deterministic: the same text and size give the same image. */
export function toPainting(text: string, width: number, height: number): Paint {
  const random = startRandom(text)
  const hue = random()
  const top = toColour(hue, 0.55, 0.25 + 0.3 * random())
  const bottom = toColour(hue + 0.08 + 0.1 * random(), 0.7, 0.75)
  const sun = {
    x: width * (0.2 + 0.6 * random()),
    y: height * (0.15 + 0.3 * random()),
    radius: Math.min(width, height) * (0.07 + 0.06 * random()),
    colour: toColour(hue + 0.45 + 0.2 * random(), 0.8, 0.8),
  }
  const ranges = [0, 1, 2].map((depth) => toRange(random, hue, depth, width, height))

  return (x, y) => {
    for (const range of ranges) if (y >= (range.tops[x] ?? height)) return range.colour
    const sky = blend(top, bottom, y / height)
    const distance = Math.hypot(x - sun.x, y - sun.y) / sun.radius
    if (distance <= 1) return sun.colour
    return blend(sun.colour, sky, Math.min(1, 0.55 + 0.15 * distance))
  }
}

/** A range of hills: the height of each column, and its colour; the nearest range comes first and is darkest. */
function toRange(random: () => number, hue: number, depth: number, width: number, height: number) {
  const base = height * (0.86 - 0.13 * depth)
  const waves = [1, 2, 5].map((turns) => ({
    frequency: (turns * (0.7 + 0.6 * random()) * 2 * Math.PI) / width,
    phase: random() * 2 * Math.PI,
    rise: (height * 0.06) / turns,
  }))
  // Computed once per column, not per pixel.
  const tops = Float64Array.from({ length: width }, (_, x) =>
    waves.reduce(
      (y, { frequency, phase, rise }) => y + rise * Math.sin(x * frequency + phase),
      base,
    ),
  )
  return { tops, colour: toColour(hue + 0.5 - 0.08 * depth, 0.4, 0.16 + 0.12 * depth) }
}

const blend = (from: Colour, to: Colour, share: number): Colour => [
  mix(from[0], to[0], share),
  mix(from[1], to[1], share),
  mix(from[2], to[2], share),
]

const mix = (from: number, to: number, share: number): number =>
  Math.round(from + (to - from) * share)

/** Hue, saturation and lightness, 0 to 1 each. */
function toColour(hue: number, saturation: number, lightness: number): Colour {
  const part = (shift: number): number => {
    const at = (shift + hue * 12) % 12
    const swing = saturation * Math.min(lightness, 1 - lightness)
    return Math.round(255 * (lightness - swing * Math.max(-1, Math.min(at - 3, 9 - at, 1))))
  }
  return [part(0), part(8), part(4)]
}

/** A pseudo-random generator seeded by the text (FNV-1a for the seed, then mulberry32). */
function startRandom(text: string): () => number {
  let state = 0x811c9dc5
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), 0x01000193)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 4_294_967_296
  }
}
