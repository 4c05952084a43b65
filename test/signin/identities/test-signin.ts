// Opens a sign-in provider in memory with its own pages, for sign-ins by identity providers on loopback, in browsers without scripts.

import { onTestFinished } from 'vitest'
import { openStore } from '#db/index.ts'
import { identityReach } from '#server/identity-reach.ts'
import type { CodeDelivery, SigninDeps } from '#signin/deps.ts'
import { openSigninProvider } from '#signin/open.ts'
import type { Client } from '#signin/register/client.ts'
import { digestOf } from '#signin/register/digest.ts'
import type { IdentityProvider } from '#signin/register/identity-provider.ts'
import { newPerson, type Person } from '#signin/register/person.ts'
import { type Browser, openBrowser, type Page } from '#test/acceptance/signin/browser.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { anAct } from '#test/support/nouns.ts'
import { keepSigningKey } from '#test/support/signing-key.ts'

export const ISSUER = 'http://127.0.0.1:4141'
export const REDIRECT = 'https://app.example.org/callback'

/** An authorization request of the client `wiki`; `more` replaces or adds parameters. */
export const addressFor = (more: Readonly<Record<string, string>> = {}, issuer = ISSUER): string =>
  `${issuer}/oauth/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: 'wiki',
    redirect_uri: REDIRECT,
    scope: 'openid email',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    ...more,
  })}`

export interface TestSigninOptions
  extends Partial<Pick<SigninDeps, 'limits' | 'observed' | 'signup' | 'contact' | 'passkeys'>> {
  readonly codeDelivery?: CodeDelivery
  readonly issuer?: string
  readonly totalMs?: number
  /** How many providers share the store; requests go to each in turn. */
  readonly nodes?: number
}

export type TestSignin = Awaited<ReturnType<typeof openTestSignin>>

export async function openTestSignin({
  signup = 'open',
  issuer = ISSUER,
  totalMs,
  codeDelivery,
  nodes = 1,
  ...stated
}: TestSigninOptions = {}) {
  const clock = handClock(new Date().toISOString())
  const masterKey = new Uint8Array(32).fill(7)
  const opened = await openStore({ dataDir: ':memory:', clock, masterKey })
  const store = opened.signin
  const faults: unknown[] = []
  const mailedCodes = new Map<string, string>()
  const at = clock.now()
  const register = (id: string, stated: Partial<Client> = {}) =>
    store.clients.create(
      {
        id,
        name: 'Wiki',
        redirectUris: [REDIRECT],
        logoutUris: [],
        requiresPkce: true,
        access: 'everybody',
        secretDigest: digestOf('secret'),
        isForDevices: false,
        backchannelLogoutUri: null,
        hasIdTokenClaims: true,
        createdAt: at,
        updatedAt: at,
        ...stated,
      },
      anAct(),
    )
  await register('wiki')
  if (nodes === 1) await keepSigningKey(store.keyring, at)
  let settings: Partial<SigninDeps> = stated
  const openNode = () =>
    openSigninProvider({
      store,
      clock,
      issuer,
      codeDelivery: codeDelivery ?? {
        kind: 'log',
        log: (email, code) => mailedCodes.set(email, code),
      },
      reach: identityReach(issuer.startsWith('http:'), totalMs),
      signup,
      ...settings,
      logFault: (cause) => faults.push(cause),
    })
  const openNodes = () => Promise.all(Array.from({ length: nodes }, openNode))
  let providers = await openNodes()
  onTestFinished(async () => {
    for (const provider of providers) provider.close()
    await opened.close()
  })
  let asked = 0
  const ask = async (address: string | URL, init?: RequestInit): Promise<Response> => {
    const provider = providers[asked++ % nodes]
    if (provider === undefined) throw new Error('there is no such node')
    return provider.answer(new Request(String(address), init), '192.0.2.1')
  }

  return {
    store,
    clock,
    faults,
    mailedCodes,
    register,
    ask,
    /** With other settings. */
    async restart(changed: Partial<SigninDeps>): Promise<void> {
      for (const provider of providers) provider.close()
      settings = { ...settings, ...changed }
      providers = await openNodes()
    },
    browser: (headers: Readonly<Record<string, string>> = {}): Browser =>
      openBrowser(issuer, headers, ask),
    start: (browser: Browser, more: Readonly<Record<string, string>> = {}): Promise<Page> =>
      browser.open(addressFor(more, issuer)),
    add: (issuerUrl: string, stated: Partial<IdentityProvider> = {}) =>
      store.identityProviders.add(
        {
          name: 'sso',
          type: 'oidc',
          label: 'Example SSO',
          issuer: issuerUrl,
          clientId: 'gateway',
          authoritativeFor: [],
          createdAt: at,
          updatedAt: at,
          ...stated,
        },
        'canary-client-secret',
        anAct(),
      ),
    async withVerified(email: string): Promise<Person> {
      const person = await store.people.confirmEmail(email, newPerson(email, at), at, 0)
      if (typeof person !== 'object') throw new Error(`${email} was not added`)
      return person
    },
    /** Types an address and its code, and returns the page that follows. */
    async byCode(browser: Browser, page: Page, email: string): Promise<Page> {
      const asked = await browser.submit(page, '/email', { email })
      return browser.submit(asked, '/code', { code: mailedCodes.get(email) ?? '' })
    },
  }
}

/** The address that a page redirects to. */
export function onwardFrom({ text, url }: Page): string {
  const address = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(text)?.[1]
  if (address === undefined) throw new Error(`${url} leads nowhere:\n${text}`)
  return address.replaceAll('&amp;', '&')
}

export const isSignedIn = ({ url }: Page): boolean =>
  url.startsWith(REDIRECT) && new URL(url).searchParams.has('code')
