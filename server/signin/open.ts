/** Opens the sign-in provider: its keys, the protocol library, its HTTP app, and the removal of expired data. */
import { createSigninApp, type SigninApp } from './app.ts'
import type { SigninDeps } from './deps.ts'
import { type Federation, openFederation } from './identities/federation.ts'
import type { SigninContext } from './interaction-context.ts'
import { limitInteractions } from './interaction-limit.ts'
import { openKnownBrowsers } from './known-browsers.ts'
import { DEFAULT_LIMITS } from './limits.ts'
import { type SignedLogout, signLogout } from './logout-token.ts'
import { openMailCodeFlow } from './mail-code.ts'
import { openPasskeys } from './passkeys.ts'
import { createProvider } from './provider.ts'
import type { Client } from './register/client.ts'
import { randomSecret } from './register/digest.ts'
import type { Keyring, SecretName } from './register/keyring.ts'
import type { WaitingLogout } from './register/logout.ts'
import type { PasskeyDesk } from './register/passkey.ts'
import { newSigningKey } from './register/signing-key.ts'
import type { SigninStore } from './store.ts'
import { startSweeping } from './sweep.ts'

export interface Signin extends SigninApp {
  /** Logins at third parties, also for who is signed in and links one. */
  readonly identities: Federation
  /** What an application is told of a session that has ended; undefined if it is not to be told any more. */
  signLogout(logout: WaitingLogout): Promise<SignedLogout | undefined>
  /** Null where there are none. */
  readonly passkeys: PasskeyDesk | null
  /** Stops the sweep; requests in progress are not affected. */
  close(): void
}

/** Creates the first signing key if there is none. @throws if the binary was minified, or there is no master key */
export async function openSigninProvider(given: SigninDeps): Promise<Signin> {
  const { application = null } = given
  const deps =
    application === null ? given : { ...given, store: withApplication(given.store, application) }
  const { keyring } = deps.store
  const current = await keyring.current()
  // Keys encrypted with a lost master key cannot be read; new ones replace them.
  if (!(await keyring.signingKeys()).some(({ id }) => id === current)) {
    await keyring.addSigningKey(await newSigningKey(deps.clock.now()), current, null)
  }
  const cookies = await secretOf(keyring, 'cookies')
  const limits = deps.limits ?? DEFAULT_LIMITS
  const pepper = await secretOf(keyring, 'mail-codes')
  const codeFlow = openMailCodeFlow(deps, pepper, limits)
  const knownBrowsers = openKnownBrowsers(deps.issuer, pepper)
  const identities = openFederation(deps, await secretOf(keyring, 'identities'))
  const passkeys = openPasskeys(deps)
  const interactionLimit = limitInteractions(deps.clock, limits.signinsPerNetwork)
  const detourLimit = limitInteractions(deps.clock, limits.signinsPerNetwork)

  const buildContext = async (
    current: string | null,
  ): Promise<SigninContext & { readonly current: string | null }> => {
    const keys = { signing: await keyring.signingKeys(), cookies }
    const provider = createProvider(deps, keys, interactionLimit)
    const flows = { codeFlow, knownBrowsers, identities, passkeys }
    return { deps, provider, ...flows, interactionLimit, detourLimit, current }
  }
  let signin = await buildContext(await keyring.current())

  const latest = async (): Promise<SigninContext> => {
    const current = await keyring.current()
    if (current !== signin.current) signin = await buildContext(current)
    return signin
  }
  const app = createSigninApp(signin, latest)
  return {
    answer: app.answer,
    identities,
    signLogout: async (logout) => signLogout((await latest()).provider, logout),
    passkeys,
    close: startSweeping({ ...deps, clock: deps.steadyClock ?? deps.clock }),
  }
}

/** Finds the application of this process beside those that are registered. */
const withApplication = (store: SigninStore, application: Client): SigninStore => ({
  ...store,
  clients: {
    ...store.clients,
    find: async (id) => (id === application.id ? application : await store.clients.find(id)),
  },
})

/** Rejects an empty or short secret, because HMAC would accept it and it could be guessed. */
async function secretOf(keyring: Keyring, name: SecretName): Promise<string> {
  const fresh = randomSecret()
  const secret = await keyring.secret(name, fresh)
  if (secret.length < fresh.length) throw new Error(`the kept secret for ${name} is too short`)
  return secret
}
