// The operator's logo: an image by its content, served under our own origin so that it can do nothing.
import { expect, test } from 'vitest'
import { serveAssets } from '#pages/assets.ts'
import { readLogo } from '#pages/logo.ts'

const bytes = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(text, 'latin1'))
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"></svg>'

test.each([
  ['png', '\x89PNG\r\n\x1a\n….'],
  ['jpg', '\xff\xd8\xff\xe0\0\x10JFIF'],
  ['webp', 'RIFF\x10\0\0\0WEBPVP8 '],
  ['svg', SVG],
  ['svg', `\n<?xml version="1.0"?>\n<!-- by hand -- -->\n<!DOCTYPE svg PUBLIC "a" "b">\n${SVG}`],
])('a %s by its content', (extension, text) => {
  expect(readLogo(bytes(text))?.path).toMatch(
    new RegExp(`^/assets/logo-[0-9a-f]{12}\\.${extension}$`),
  )
})

test.each([
  ['an empty file', ''],
  ['a page', `<!doctype html><svg xmlns="http://www.w3.org/2000/svg">`],
  ['a page in XML', `<html xmlns="http://www.w3.org/1999/xhtml">${SVG}</html>`],
  ['an SVG that no browser shows as an image', '<svg viewBox="0 0 1 1"></svg>'],
  ['an animation of another kind', 'GIF89a'],
  ['many comments and nothing else', '<!---->'.repeat(30_000)],
])('%s is none', (_what, text) => expect(readLogo(bytes(text))).toBeUndefined())

test('an SVG is served so that a script in it does not run, for ever, and by its content', async () => {
  const hostile = SVG.replace('></svg>', '><script>alert(1)</script></svg>')
  const logo = readLogo(bytes(hostile))
  if (logo === undefined) throw new Error('not a logo')
  const answer = serveAssets([logo])
  const served = answer(new Request(`http://localhost${logo.path}`))
  expect(Object.fromEntries(served?.headers ?? [])).toMatchObject({
    'content-type': 'image/svg+xml',
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'public, max-age=31536000, immutable',
  })
  expect(await served?.text()).toBe(hostile)
  expect(answer(new Request('http://localhost/assets/logo-000000000000.svg'))).toBeUndefined()
})

test('an image in bytes is served as it is', async () => {
  const png = bytes('\x89PNG\r\n\x1a\n\0\x01\x02')
  const logo = readLogo(png)
  if (logo === undefined) throw new Error('not a logo')
  const headers = { 'accept-encoding': 'br' }
  const served = serveAssets([logo])(new Request(`http://localhost${logo.path}`, { headers }))
  expect(new Uint8Array((await served?.arrayBuffer()) ?? [])).toEqual(png)
  expect(served?.headers.get('content-encoding')).toBeNull()
})
