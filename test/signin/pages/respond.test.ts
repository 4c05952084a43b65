// Sending a page: its headers and status, its language, and where its forms may end.
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { pageHeaders } from '#pages/headers.ts'
import { readLanguage } from '#pages/language.ts'
import { formTarget } from '#signin/pages/form-target.ts'
import { pageResponse } from '#signin/pages/respond.ts'
import type { ErrorKind, PageView } from '#signin/pages/view.ts'
import { VIEWS } from './views.ts'

const issuer = 'https://auth.example.com:8443'
const signIn = VIEWS['sign-in'] as PageView

const directivesOf = (response: Response): ReadonlyMap<string, string> =>
  new Map(
    (response.headers.get('content-security-policy') ?? '').split('; ').map((directive) => {
      const [name = '', ...sources] = directive.split(' ')
      return [name, sources.join(' ')] as const
    }),
  )

describe('pageResponse', () => {
  test('forbids everything that a page does not use', async () => {
    const response = await pageResponse(signIn, { language: 'ru', issuer })
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-language': 'ru',
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      'strict-transport-security': 'max-age=31536000',
      vary: 'Accept-Language',
    })
    expect(Object.fromEntries(directivesOf(response))).toEqual({
      'default-src': "'none'",
      'style-src': expect.stringMatching(/^'sha256-[\w+/]{43}='$/),
      'img-src': 'data:',
      'base-uri': "'none'",
      'frame-ancestors': "'none'",
      'form-action': "'self'",
    })
  })

  test('allows the one stylesheet by its digest', async () => {
    const response = await pageResponse(signIn, { language: 'en', issuer })
    const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(await response.text()) ?? []
    const digest = createHash('sha256').update(style).digest('base64')
    expect(directivesOf(response).get('style-src')).toBe(`'sha256-${digest}'`)
  })

  test('sends HSTS only over https', () => {
    expect(pageHeaders({ isHttps: false, sources: [] })).not.toHaveProperty(
      'Strict-Transport-Security',
    )
  })

  test('lets forms end at the client', async () => {
    const formTargets = ['https://app.example.com', 'com.example.app:']
    const response = await pageResponse(signIn, { language: 'en', issuer, formTargets })
    expect(directivesOf(response).get('form-action')).toBe(
      "'self' https://app.example.com com.example.app:",
    )
  })

  test("sends every cookie, the caller's status, and the issuer's host", async () => {
    const response = await pageResponse(signIn, {
      language: 'en',
      issuer,
      status: 422,
      headers: [
        ['Set-Cookie', 'a=1'],
        ['Set-Cookie', 'b=2'],
      ],
    })
    expect(response.status).toBe(422)
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(await response.text()).toContain('<footer>auth.example.com:8443</footer>')
  })

  test.each([
    ['unknown-client', 400],
    ['unregistered-redirect', 400],
    ['expired', 400],
    ['other-browser', 403],
    ['not-found', 404],
    ['too-many-requests', 429],
    ['failed', 500],
  ] as const)('answers an error that is %s with %d', async (kind: ErrorKind, status) => {
    const view: PageView = { page: 'error', kind, errorId: 'err_1' }
    expect((await pageResponse(view, { language: 'en', issuer })).status).toBe(status)
  })

  test('answers a disabled person with 403', async () => {
    const response = await pageResponse(VIEWS['disabled'] as PageView, { language: 'en', issuer })
    expect(response.status).toBe(403)
  })
})

describe('formTarget', () => {
  test.each([
    ['https://app.example.com/back?x=1', 'https://app.example.com'],
    ['https://app.example.com:8443/back', 'https://app.example.com:8443'],
    ['http://127.0.0.1:9/back', 'http://127.0.0.1:9'],
    ['https://пример.рф/back', 'https://xn--e1afmkfd.xn--p1ai'],
    ['com.example.app:/back', 'com.example.app:'],
    ['http://[::1]:9/back', 'http:'],
    ["https://a;script-src'unsafe-inline'/back", 'https:'],
    ['https://a,b/back', 'https:'],
    ['nowhere', undefined],
  ])('of %s is %s', (address, expected) => {
    expect(formTarget(address)).toBe(expected)
  })
})

describe('readLanguage', () => {
  test.each([
    [null, undefined, 'en'],
    ['', undefined, 'en'],
    ['*', undefined, 'en'],
    ['de', undefined, 'en'],
    ['ru', undefined, 'ru'],
    ['RU-ru', undefined, 'ru'],
    ['ru-RU,ru;q=0.9,en-US;q=0.8,en;q=0.7', undefined, 'ru'],
    ['en-US,en;q=0.9,ru;q=0.8', undefined, 'en'],
    ['en;q=0.5, ru', undefined, 'ru'],
    ['de, ru;q=0.3, en;q=0.2', undefined, 'ru'],
    ['ru;q=0, en;q=0.1', undefined, 'en'],
    ['ru;q=nonsense', undefined, 'en'],
    ['rue', undefined, 'en'],
    ['en', 'ru', 'ru'],
    ['ru', 'fr-CA en', 'en'],
    ['ru', 'fr', 'ru'],
  ])('reads %j with ui_locales %j as %s', (accept, uiLocales, expected) => {
    expect(readLanguage(accept, uiLocales)).toBe(expected)
  })
})
