/** A serving gateway with the cabinet, over a real store and real sockets; people of each role, signed in by mailed codes. */
import { openStore } from '#db/index.ts'
import { type Clock, systemClock } from '#domain/clock.ts'
import type { OperatorDeps } from '#operator/deps.ts'
import { type AnyVerb, perform } from '#operator/verb.ts'
import { VERBS, type VerbInput, type VerbName, type VerbRecord } from '#operator/verbs.ts'
import { startGateway } from '#server/gateway.ts'
import { DEFAULT_LIMITS } from '#signin/limits.ts'
import type { Role } from '#signin/register/membership.ts'
import type { PersonId } from '#signin/register/person.ts'
import { type Browser, openBrowser, type Page } from '#test/acceptance/signin/browser.ts'
import { keepSigningKey } from '#test/support/signing-key.ts'
import { demoCards, demoProvider } from '#upstream/demo/cards.ts'
import { createProbe } from '#upstream/probe.ts'

export type House = Awaited<ReturnType<typeof openHouse>>

/** Many sign in from one address here. */
const LIMITS = {
  ...DEFAULT_LIMITS,
  codesPerAddress: 1_000,
  codesPerNetwork: 1_000,
  signinsPerNetwork: 10_000,
}

interface Opened {
  readonly dataDir?: string
  readonly clock?: Clock
}

export async function openHouse({ dataDir = ':memory:', clock = systemClock }: Opened = {}) {
  const masterKey = new Uint8Array(32).fill(7)
  const store = await openStore({ dataDir, clock, masterKey })
  if ((await store.signin.keyring.current()) === null) {
    await keepSigningKey(store.signin.keyring, clock.now())
  }
  const codes = new Map<string, string>()
  const faults: unknown[] = []
  const gateway = await startGateway({
    store,
    clock,
    listen: { hostname: '127.0.0.1', port: 0 },
    adminSocket: null,
    delivery: { smtp: null, webhooks: { loopback: true, private: false } },
    masterKey,
    signin: {
      listen: { hostname: '127.0.0.1', port: 0 },
      authUrl: null,
      signup: 'open',
      limits: LIMITS,
      cabinet: { contact: null },
      logCode: (email, code) => void codes.set(email, code),
    },
    logFault: (cause) => void faults.push(cause),
  })
  const authUrl = gateway.authUrl ?? ''
  const operator: OperatorDeps = {
    store,
    clock,
    version: '0',
    dataDir: null,
    live: null,
    who: 'uid 7 (tester)',
    delivery: { smtp: false, loopbackWebhooks: true },
    probe: createProbe(systemClock),
    demoKit: async (at) => ({ provider: demoProvider(at), cards: demoCards(at) }),
  }
  const act = async <Name extends VerbName>(
    name: Name,
    input: VerbInput<Name>,
  ): Promise<VerbRecord<Name>> => {
    const verb: AnyVerb = await VERBS[name]()
    return (await perform(verb, operator, input)) as VerbRecord<Name>
  }

  await act('init', {})
  await act('balance.top-up', { amount_usd: '20' })

  return {
    clock,
    store,
    gateway,
    authUrl,
    faults,
    act,
    async close() {
      await gateway.stop(0)
      await store.close()
    },
    async signIn(email: string, headers: Readonly<Record<string, string>> = {}): Promise<Browser> {
      const browser = openBrowser(authUrl, headers)
      const start = await browser.open('/cabinet')
      const asked = await browser.submit(start, '/email', { email })
      const landed = await browser.submit(asked, '/code', { code: codes.get(email) ?? '' })
      // The page after a form leads on by itself.
      const onward = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(landed.text)?.[1]
      if (onward !== undefined) await browser.open(onward.replaceAll('&amp;', '&'))
      return browser
    },
    /** A person who belongs to the account in this role, signed in. */
    async person(
      email: string,
      role: Role,
      accountName = 'default',
      headers: Readonly<Record<string, string>> = {},
    ) {
      const { id } = await act('accounts.members.add', { account: accountName, email, role })
      const browser = await this.signIn(email, headers)
      return { id, email, role, browser }
    },
    /** As a third party claims it. */
    async linkIdentity(person: string, claimedName: string): Promise<void> {
      const issuer = 'https://party.example'
      const party = { name: 'party', type: 'oidc', issuer, client_id: 'c', secret: 's' } as const
      await act('identities.add', party)
      const { identities, artifacts } = store.signin
      const claimed = { issuer, subject: person, claimedName }
      const revoked = await artifacts.revocations()
      await identities.link(claimed, person as PersonId, clock.now(), revoked)
    },
    /** Lets a new application of this name keep access for the person of the browser. */
    async grant(browser: Browser, name: string): Promise<void> {
      const redirect_uris = ['https://app.example.org/callback']
      const { client_id } = await act('clients.create', { name, redirect_uris })
      const fields = {
        response_type: 'code',
        client_id,
        redirect_uri: redirect_uris[0] ?? '',
        scope: 'openid offline_access',
        prompt: 'consent',
        state: 'some',
        code_challenge: 'a'.repeat(43),
        code_challenge_method: 'S256',
      }
      const asked = await browser.open(`/oauth/authorize?${new URLSearchParams(fields)}`)
      await browser.submit(asked, '/consent', { decision: 'allow' })
    },
  }
}

/** The token that every form of the page has. */
export const csrfOf = ({ text }: Page): string =>
  /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? ''

/** A form posted as a browser posts it, from the page's own origin; `headers` replace its own. */
export const post = (
  browser: Browser,
  authUrl: string,
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Page> =>
  browser.open(path, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: authUrl,
      'sec-fetch-site': 'same-origin',
      ...headers,
    },
    body: new URLSearchParams(fields).toString(),
  })
