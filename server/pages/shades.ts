/** The shades of the operator's colour in which the pages can be read, light and dark (WCAG 2.2 AA). */

/** As the pages have it: `#rrggbb`. */
export interface Shades {
  readonly stated: string
  readonly light: string
  readonly dark: string
}

type Rgb = readonly [red: number, green: number, blue: number]

const BLACK: Rgb = [0, 0, 0]
const WHITE: Rgb = [255, 255, 255]
/** Of `tokens.css`: what text in this colour is written on that has the least contrast with it, and what is written on it. */
const LIGHT = { ground: '#f3f2ee', onLead: '#ffffff' }
const DARK = { ground: '#262926', onLead: '#141513' }

const MIN_CONTRAST = 4.5

/** The colour itself where its contrast is enough, else the nearest darker or lighter one. Undefined for what is no `#rgb` or `#rrggbb`. */
export function shadesOf(text: string): Shades | undefined {
  const color = readHex(text.trim().toLowerCase())
  if (color === undefined) return undefined
  return {
    stated: toHex(color),
    light: toHex(legible(color, LIGHT.ground, BLACK)),
    dark: toHex(legible(color, DARK.ground, WHITE)),
  }
}

/** What replaces the colours of `tokens.css`. A button is darker under the pointer where pages are light, and lighter where they are dark. */
export const toStyle = ({ light, dark }: Shades): string => `:root {
  --lead: ${light};
  --lead-over: ${toHex(mix(rgbOf(light), BLACK, 0.2))};
  --on-lead: ${LIGHT.onLead};
}
@media (prefers-color-scheme: dark) {
  :root {
    --lead: ${dark};
    --lead-over: ${toHex(mix(rgbOf(dark), WHITE, 0.25))};
    --on-lead: ${DARK.onLead};
  }
}
`

/** From 1, of a colour with itself, to 21. */
export function contrastOf(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(rgbOf(one)), luminance(rgbOf(other))].toSorted(
    (a, b) => a - b,
  )
  return (light + 0.05) / (dark + 0.05)
}

const STEPS = 100

function legible(color: Rgb, ground: string, towards: Rgb): Rgb {
  for (let step = 0; step < STEPS; step++) {
    const shade = mix(color, towards, step / STEPS)
    if (contrastOf(toHex(shade), ground) >= MIN_CONTRAST) return shade
  }
  return towards
}

const mix = ([r, g, b]: Rgb, [red, green, blue]: Rgb, part: number): Rgb => [
  r + (red - r) * part,
  g + (green - g) * part,
  b + (blue - b) * part,
]

function readHex(text: string): Rgb | undefined {
  if (/^#[0-9a-f]{3}$/.test(text)) return rgbOf(text.replace(/[0-9a-f]/g, '$&$&'))
  return /^#[0-9a-f]{6}$/.test(text) ? rgbOf(text) : undefined
}

const rgbOf = (hex: string): Rgb => [part(hex, 1), part(hex, 3), part(hex, 5)]

const part = (hex: string, at: number): number => Number.parseInt(hex.slice(at, at + 2), 16)

const toHex = (color: Rgb): string =>
  `#${color.map((one) => Math.round(one).toString(16).padStart(2, '0')).join('')}`

/** Relative luminance (WCAG 2.2). */
function luminance(color: Rgb): number {
  const [r, g, b] = color.map((one) => {
    const part = one / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }) as unknown as Rgb
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
