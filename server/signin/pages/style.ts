/** The stylesheet of the pages, in each of them, allowed in the CSP by its digest. */
import { createHash } from 'node:crypto'
import tokens from '#pages/tokens.css' with { type: 'text' }
import style from './style.css' with { type: 'text' }

export const STYLE = tokens + style

/** The `style-src` that allows it. */
export const STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`
