/** Styles and scripts as files of their own, under names that say their content: so they are kept for ever by whoever has them. */
import { createHash } from 'node:crypto'
import { brotliCompressSync } from 'node:zlib'

export interface Asset {
  readonly path: string
  readonly type: string
  readonly text: string
}

/** `directory`: its path, with a slash at the end. */
export const asset = (
  directory: string,
  name: string,
  extension: 'css' | 'js',
  text: string,
): Asset => ({
  path: `${directory}${name}-${createHash('sha256').update(text).digest('hex').slice(0, 12)}.${extension}`,
  type: extension === 'css' ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8',
  text,
})

/** Answers with one of these; undefined for a name that there is not, as one of another version. */
export function serveAssets(assets: readonly Asset[]): (request: Request) => Response | undefined {
  const byPath = new Map(assets.map((one) => [one.path, one]))
  return (request) => {
    const found = byPath.get(new URL(request.url).pathname)
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
}

const compressed = new Map<string, Uint8Array<ArrayBuffer>>()

function compress({ path, text }: Asset): Uint8Array<ArrayBuffer> {
  const known = compressed.get(path) ?? new Uint8Array(brotliCompressSync(text))
  compressed.set(path, known)
  return known
}
