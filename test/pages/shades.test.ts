// The operator's colour: whichever it is, what is written in it and on it can be read.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { contrastOf, shadesOf, toStyle } from '#pages/shades.ts'
import tokens from '#pages/tokens.css' with { type: 'text' }

const AA = 4.5

/** The colours of a stylesheet: those of light pages, and those that dark ones have instead. */
const coloursOf = (css: string) =>
  css
    .split('@media')
    .map((part) => new Map([...part.matchAll(/--([\w-]+): (#\w+);/g)].map(([, k, v]) => [k, v])))

const long = (hex = ''): string => (hex.length === 4 ? hex.replace(/[^#]/g, '$&$&') : hex)

/** What is written on what, of light pages and of dark ones. */
function contrasts(style: string): readonly (readonly [string, number])[] {
  const [ours, theirs] = [coloursOf(tokens), coloursOf(style)]
  return [0, 1].flatMap((half) => {
    const colour = (name: string) => long(theirs[half]?.get(name) ?? ours[half]?.get(name))
    return [
      ...['card', 'ground', 'quiet-over'].map((ground) => ['lead', ground] as const),
      ...['lead', 'lead-over'].map((ground) => ['on-lead', ground] as const),
    ].map(
      ([text, ground]) =>
        [`${half} ${text} on ${ground}`, contrastOf(colour(text), colour(ground))] as const,
    )
  })
}

const tooLow = (style: string) => contrasts(style).filter(([, contrast]) => contrast < AA)

test('the contrast of any colour is enough, light and dark', () => {
  expect(tooLow('')).toEqual([])
  const hex = fc
    .integer({ min: 0, max: 0xffffff })
    .map((n) => `#${n.toString(16).padStart(6, '0')}`)
  void fc.assert(
    fc.property(hex, (color) => {
      const shades = shadesOf(color)
      expect(shades?.stated).toBe(color)
      expect([color, tooLow(shades ? toStyle(shades) : '')]).toEqual([color, []])
    }),
    { numRuns: 500, examples: [['#000000'], ['#ffffff'], ['#ffff00'], ['#808080'], ['#0000ff']] },
  )
})

test('a colour that can be read stays as it is', () => {
  expect(shadesOf('#1F544B')).toMatchObject({ stated: '#1f544b', light: '#1f544b' })
  expect(shadesOf(' #fc0 ')).toMatchObject({ stated: '#ffcc00', dark: '#ffcc00' })
  expect(contrastOf('#000000', '#ffffff')).toBeCloseTo(21)
})

test.each(['', '#', '#12', '#12345', '#1234567', 'red', 'rgb(1,2,3)', '1f544b', '#gggggg'])(
  '%j is no colour',
  (text) => expect(shadesOf(text)).toBeUndefined(),
)
