/** Style and scripts as files of their own, under names that say their content: so they are kept for ever by whoever has them. */
import { createHash } from 'node:crypto'
import { brotliCompressSync } from 'node:zlib'
import htmx from 'htmx.org/dist/htmx.min.js' with { type: 'text' }
import tokens from '#pages/tokens.css' with { type: 'text' }
import style from './assets/cabinet.css' with { type: 'text' }
import script from './assets/cabinet.js' with { type: 'text' }

export const ASSETS = '/cabinet/assets/'

interface Asset {
  readonly path: string
  readonly type: string
  readonly text: string
}

const asset = (name: string, extension: 'css' | 'js', text: string): Asset => ({
  path: `${ASSETS}${name}-${createHash('sha256').update(text).digest('hex').slice(0, 12)}.${extension}`,
  type: extension === 'css' ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8',
  text,
})

export const STYLE = asset('cabinet', 'css', tokens + style)
export const SCRIPT = asset('cabinet', 'js', script)
export const HTMX = asset('htmx', 'js', htmx)

const BY_PATH = new Map([STYLE, SCRIPT, HTMX].map((one) => [one.path, one]))
const compressed = new Map<string, Uint8Array<ArrayBuffer>>()

/** Undefined for a name that there is not, as one of another version. */
export function answerAsset(request: Request): Response | undefined {
  const found = BY_PATH.get(new URL(request.url).pathname)
  if (found === undefined) return undefined
  const takesBrotli = /\bbr\b/.test(request.headers.get('accept-encoding') ?? '')
  const body = takesBrotli ? compress(found) : found.text
  return new Response(request.method === 'HEAD' ? null : body, {
    headers: {
      'Content-Type': found.type,
      'Cache-Control': 'public, max-age=31536000, immutable',
      'X-Content-Type-Options': 'nosniff',
      'Cross-Origin-Resource-Policy': 'same-origin',
      Vary: 'Accept-Encoding',
      ...(takesBrotli && { 'Content-Encoding': 'br' }),
    },
  })
}

function compress({ path, text }: Asset): Uint8Array<ArrayBuffer> {
  const known = compressed.get(path) ?? new Uint8Array(brotliCompressSync(text))
  compressed.set(path, known)
  return known
}
