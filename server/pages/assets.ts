/** Styles, scripts and images as files of their own, under names that say their content: so they are kept for ever by whoever has them. */
import { createHash } from 'node:crypto'
import { brotliCompressSync } from 'node:zlib'

/** Those of every page. */
export const ASSETS = '/assets/'

const TYPES = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
}

export type Extension = keyof typeof TYPES

export interface Asset {
  readonly path: string
  readonly type: string
  /** What is compressed already is bytes. */
  readonly content: string | Uint8Array<ArrayBuffer>
}

/** `directory`: its path, with a slash at the end. */
export const asset = (
  directory: string,
  name: string,
  extension: Extension,
  content: Asset['content'],
): Asset => ({
  path: `${directory}${name}-${createHash('sha256').update(content).digest('hex').slice(0, 12)}.${extension}`,
  type: TYPES[extension],
  content,
})

/** Answers with one of these; undefined for a name that there is not, as one of another version. */
export function serveAssets(assets: readonly Asset[]): (request: Request) => Response | undefined {
  const byPath = new Map(assets.map((one) => [one.path, one]))
  return (request) => {
    const found = byPath.get(new URL(request.url).pathname)
    if (found === undefined) return undefined
    const { path, content } = found
    const takesBrotli = /\bbr\b/.test(request.headers.get('accept-encoding') ?? '')
    const isCompressed = takesBrotli && typeof content === 'string'
    const body = isCompressed ? compress(path, content) : content
    return new Response(request.method === 'HEAD' ? null : body, {
      headers: {
        'Content-Type': found.type,
        'Cache-Control': 'public, max-age=31536000, immutable',
        // An image that is opened by itself is a page, and an SVG may have scripts in it.
        'Content-Security-Policy': "default-src 'none'; sandbox",
        'X-Content-Type-Options': 'nosniff',
        'Cross-Origin-Resource-Policy': 'same-origin',
        Vary: 'Accept-Encoding',
        ...(isCompressed && { 'Content-Encoding': 'br' }),
      },
    })
  }
}

const compressed = new Map<string, Uint8Array<ArrayBuffer>>()

function compress(path: string, text: string): Uint8Array<ArrayBuffer> {
  const known = compressed.get(path) ?? new Uint8Array(brotliCompressSync(text))
  compressed.set(path, known)
  return known
}
