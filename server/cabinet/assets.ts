/** The style and the scripts of the cabinet. */
import htmx from 'htmx.org/dist/htmx.min.js' with { type: 'text' }
import { asset, serveAssets } from '#pages/assets.ts'
import tokens from '#pages/tokens.css' with { type: 'text' }
import style from './assets/cabinet.css' with { type: 'text' }
import script from './assets/cabinet.js' with { type: 'text' }

export const ASSETS = '/cabinet/assets/'

export const STYLE = asset(ASSETS, 'cabinet', 'css', tokens + style)
export const SCRIPT = asset(ASSETS, 'cabinet', 'js', script)
export const HTMX = asset(ASSETS, 'htmx', 'js', htmx)

export const answerAsset = serveAssets([STYLE, SCRIPT, HTMX])
