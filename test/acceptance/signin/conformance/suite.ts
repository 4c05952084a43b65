/** The common steps of the certification suite's modules: what each does and requires before and after its own step. */
import { expect } from 'vitest'
import type { Browser, Page } from '../browser.ts'
import { openSigninGateway, REDIRECT, type RegisteredClient } from '../signin-gateway.ts'
import {
  type Claims,
  demandMetadata,
  demandPublicKeys,
  type Provider,
  readIdToken,
  type Tokens,
} from './demands.ts'

/** How responses are asked for: as the flow has them by default, or as a form that the browser posts. */
export type Mode = 'default' | 'form_post'

export interface Suite extends Provider {
  readonly mode: Mode
  readonly client: RegisteredClient
  readonly second: RegisteredClient
  /** A new person, in a browser on a network of their own. */
  visitor(): Visitor
}

/** An authorization request as it was sent: `null` removes a default field. */
export type Fields = Readonly<Record<string, string | null>>

export interface Sent {
  readonly client: RegisteredClient
  readonly fields: Readonly<Record<string, string>>
  /** The page that the browser shows next, or the address it was redirected to. */
  readonly page: Page
}

export interface Visitor {
  readonly browser: Browser
  readonly email: string
  /** Opens the authorization endpoint, and stops at the first page. */
  send(more?: Fields, client?: RegisteredClient): Promise<Sent>
  /** The same, and completes all pages. */
  pass(more?: Fields, client?: RegisteredClient): Promise<Sent>
  /** Completes all pages. */
  answer(sent: Sent): Promise<Sent>
}

export type Authentication = 'client_secret_basic' | 'client_secret_post'

export interface Outcome {
  readonly code: string
  readonly tokens: Tokens
  readonly claims: Claims
  readonly userinfo: Claims
}

/** The gateway behind TLS, with two clients that may omit PKCE, which the suite sends in one module only. */
export async function openSuite({
  mode = 'default',
  env = {},
}: {
  readonly mode?: Mode
  readonly env?: Readonly<Record<string, string>>
} = {}): Promise<Suite & { close(): Promise<void> }> {
  const setup = await openSigninGateway(env, { isBehindTls: true })
  const client = setup.register('Suite', '--no-require-pkce')
  const second = setup.register('Suite 2', '--no-require-pkce')
  const metadata = await demandMetadata(setup)
  await demandPublicKeys(setup, metadata)
  let people = 0
  const visitor = (): Visitor => {
    const n = ++people
    const browser = setup.browser({ 'x-forwarded-for': `198.18.0.${n}` })
    const email = `member-${n}@example.org`
    return newVisitor({ setup, metadata, mode }, client, browser, email)
  }
  return { setup, metadata, mode, client, second, visitor, close: () => setup.close() }
}

function newVisitor(
  { setup, metadata, mode }: Pick<Suite, 'setup' | 'metadata' | 'mode'>,
  usual: RegisteredClient,
  browser: Browser,
  email: string,
): Visitor {
  const send: Visitor['send'] = async (more = {}, client = usual) => {
    const fields = fieldsOf(client, more, mode)
    const address = `${metadata.authorization_endpoint}?${new URLSearchParams(fields)}`
    return { client, fields, page: delivered(await browser.open(address), mode) }
  }
  const answer: Visitor['answer'] = async (sent) => {
    let { page } = sent
    if (page.text.includes('name="email"')) page = await setup.signIn(browser, page, email)
    if (page.text.includes('name="decision"')) {
      page = await browser.submit(page, '/consent', { decision: 'allow' })
    }
    return { ...sent, page: delivered(page, mode) }
  }
  return {
    browser,
    email,
    send,
    answer,
    pass: async (more, client) => answer(await send(more, client)),
  }
}

/**
 * The page that follows, whose address has a response that was posted to it, too, as the browser would find it in the form. The
 * form submits itself, and a response of the other kind is none.
 */
function delivered(page: Page, mode: Mode): Page {
  if (mode === 'default') return page
  expect(page.url.startsWith(REDIRECT)).toBe(false)
  const action = /<form method="post" action="([^"]*)">/.exec(page.text)?.[1]
  if (action !== REDIRECT) return page
  expect(page.text).toMatch(/<script src="\/[^"]*\/post[^"]*\.js"/)
  expect(page.headers.get('content-security-policy')).toContain(`form-action 'self' ${ORIGIN}`)
  const query = new URLSearchParams()
  const fields = page.text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"\/?>/g)
  for (const [, name = '', value = ''] of fields) query.set(name, plain(value))
  return { ...page, url: `${REDIRECT}?${query}` }
}

const ORIGIN = new URL(REDIRECT).origin

const plain = (escaped: string): string =>
  escaped
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')

/** The suite's default request, with a module's changes. */
export function fieldsOf(
  client: RegisteredClient,
  more: Fields,
  mode: Mode,
): Readonly<Record<string, string>> {
  const fields = {
    client_id: client.client_id,
    redirect_uri: REDIRECT,
    scope: 'openid',
    state: crypto.randomUUID(),
    nonce: crypto.randomUUID(),
    response_type: 'code',
    ...(mode === 'form_post' && { response_mode: mode }),
    ...more,
  }
  return Object.fromEntries(
    Object.entries(fields).filter((pair): pair is [string, string] => pair[1] !== null),
  )
}

/** Checks a callback with a code; returns the code. */
export function codeFrom({ metadata }: Suite, { fields, page }: Sent): string {
  expect(page.url).toMatch(/^https:\/\/app\.example\.org\/callback\?/)
  const { code = '', ...rest } = Object.fromEntries(new URL(page.url).searchParams)
  expect(rest).toEqual({ state: fields['state'], iss: metadata.issuer })
  expect(code).not.toBe('')
  return code
}

/** RFC 6749 §4.1.2.1: printable ASCII without quotation mark and backslash. */
const TOLD = /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/

/** Checks a callback with an error; returns the error. */
export function errorFrom({ metadata }: Suite, { fields, page }: Sent): string {
  expect(page.url).toMatch(/^https:\/\/app\.example\.org\/callback\?/)
  const query = Object.fromEntries(new URL(page.url).searchParams)
  const { error = '', error_description = 'none', ...rest } = query
  expect(error_description).toMatch(TOLD)
  expect(rest).toEqual({
    iss: metadata.issuer,
    ...('state' in fields && { state: fields['state'] }),
  })
  expect(error).toMatch(TOLD)
  return error
}

/** One request to the token endpoint. */
export function callToken(
  { setup, metadata }: Suite,
  { client_id, client_secret }: RegisteredClient,
  grant: Readonly<Record<string, string>>,
  authentication: Authentication = 'client_secret_basic',
): Promise<Response> {
  const isBasic = authentication === 'client_secret_basic'
  return setup.ask(metadata.token_endpoint, {
    method: 'POST',
    headers: isBasic ? { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` } : {},
    body: new URLSearchParams({ ...grant, ...(!isBasic && { client_id, client_secret }) }),
  })
}

/** The suite always sends redirect_uri, although this provider does not require it. */
export const codeGrant = (code: string, { fields }: Pick<Sent, 'fields'>) => ({
  grant_type: 'authorization_code',
  code,
  redirect_uri: fields['redirect_uri'] ?? '',
})

/** Checks that the token endpoint refuses: 400 as JSON, with this error. */
export async function demandRefusal(response: Response, error: string): Promise<void> {
  expect(response.status).toBe(400)
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(await response.json()).toMatchObject({ error })
}

/** From the callback to the userinfo, with every check of the suite. */
export async function complete(
  suite: Suite,
  sent: Sent,
  more: Readonly<Record<string, string>> = {},
  authentication?: Authentication,
): Promise<Outcome> {
  const code = codeFrom(suite, sent)
  const grant = { ...codeGrant(code, sent), ...more }
  const response = await callToken(suite, sent.client, grant, authentication)
  const tokens = await readTokens(response)
  const asked = { clientId: sent.client.client_id, nonce: sent.fields['nonce'] }
  const { claims } = await readIdToken(suite, tokens, asked)
  const userinfo = await readUserinfo(
    suite,
    { headers: { authorization: `Bearer ${tokens.access_token}` } },
    claims,
  )
  return { code, tokens, claims, userinfo }
}

/** Checks a token response. */
export async function readTokens(response: Response): Promise<Tokens> {
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  expect(response.headers.get('cache-control')).toBe('no-store')
  const tokens = (await response.json()) as Tokens
  expect(tokens.access_token).toMatch(/^[\x20-\x7e]+$/)
  expect(tokens.token_type.toLowerCase()).toBe('bearer')
  expect(Number.isInteger(tokens.expires_in) && tokens.expires_in > 0).toBe(true)
  return tokens
}

/** Checks a userinfo response. */
export async function readUserinfo(
  { setup, metadata }: Suite,
  init: RequestInit,
  { sub }: Pick<Claims, 'sub'>,
): Promise<Claims> {
  const response = await setup.ask(metadata.userinfo_endpoint, init)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  const userinfo = (await response.json()) as Claims
  expect(userinfo.sub).toBe(sub)
  return userinfo
}
