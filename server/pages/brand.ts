/** The operator's name, logo and colour on the pages that people see. */
import { ASSETS, type Asset, asset } from './assets.ts'
import { type Html, html, ICON, MARK } from './html.ts'
import { type Shades, toStyle } from './shades.ts'

export interface Brand {
  readonly name: string | null
  /** There is none without a name, which is its text. */
  readonly logo: Asset | null
  readonly shades: Shades | null
  /** The stylesheet with the shades. */
  readonly style: Asset | null
}

export const brandOf = (name: string | null, logo: Asset | null, shades: Shades | null): Brand => ({
  name,
  logo,
  shades,
  style: shades && asset(ASSETS, 'brand', 'css', toStyle(shades)),
})

/** Where the operator states none. */
export const NO_BRAND = brandOf(null, null, null)

export const assetsOf = ({ logo, style }: Brand): readonly Asset[] =>
  [logo, style].filter((one) => one !== null)

/** Above what a page says: the logo, or the mark and the name. */
export const drawBrand = ({ name, logo }: Brand, usual = ''): Html =>
  logo === null
    ? html`${MARK}${name ?? usual}`
    : html`<img class="logo" src="${logo.path}" alt="${name}">`

/** In a page's head, after its own style. */
export const headOf = ({ logo, style }: Brand): Html =>
  html`<link rel="icon" href="${logo?.path ?? ICON}">${
    style &&
    html`
<link rel="stylesheet" href="${style.path}">`
  }`
