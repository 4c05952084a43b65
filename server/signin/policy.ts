/** When a person is prompted to sign in or for consent. */
import {
  InvalidRedirectUri,
  InvalidRequest,
  LoginRequired,
} from 'oidc-provider/lib/helpers/errors.js'
import {
  base,
  Check,
  type InteractionPolicy,
  Prompt,
} from 'oidc-provider/lib/helpers/interaction_policy/index.js'
import { decode } from 'oidc-provider/lib/helpers/jwt.js'
import type { Context, Grant, Provider } from 'oidc-provider/lib/provider.js'
import { type Clock, unixSeconds } from '#domain/clock.ts'
import { TWO_FACTORS } from './claims.ts'
import type { PasskeyPolicy } from './register/passkey.ts'

/** The absolute lifetime of a session. */
export const SESSION_SECONDS = 14 * 24 * 3600

/** The library's own policy, and a session whose person is gone or disabled, or that is too old, asks for a new sign-in. */
export function interactionPolicy(clock: Clock, passkeys: PasskeyPolicy): InteractionPolicy {
  const policy = base()
  const login = policy.get('login')
  const add = (reason: string, isDue: (oidc: Context['oidc']) => boolean): void => {
    const verdict = ({ oidc }: Context) =>
      isDue(oidc) ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT
    const said = 'End-User authentication is required'
    login?.checks.add(new Check(reason, said, 'login_required', verdict))
  }
  add('account_gone', ({ session, account }) => {
    return session.accountId !== undefined && account === undefined
  })
  // The stored session expires slightly later than the session itself, and each use extends it.
  add('session_over', ({ session: { loginTs } }) => {
    return loginTs !== undefined && unixSeconds(clock.now()) - loginTs >= SESSION_SECONDS
  })
  add('openid_missing', rejectWithoutOpenid)
  add('redirect_gone', rejectRemovedRedirect)
  add('hint_of_another', rejectOtherSubject)
  policy.get('consent')?.checks.add(deviceCheck())
  policy.add(passkeyPrompt(passkeys), AFTER_LOGIN)
  policy.add(accessPrompt(), AFTER_LOGIN)
  const asked = new Check('unasked', 'the account is chosen', undefined, () => false)
  policy.add(new Prompt({ name: SELECT_ACCOUNT, requestable: true }, asked), FIRST)
  return policy
}

/** The prompt of a person who may not enter the application: a page says so. */
export const ACCESS = 'access'

/** The prompt of a person who is offered a passkey, or has not shown one where it is required. */
export const PASSKEY = 'passkey'

const AFTER_LOGIN = 1
const FIRST = 0

/** Asks which account, even where somebody is signed in. */
export const SELECT_ACCOUNT = 'select_account'

/** What the application is told then. */
export const NOT_ALLOWED = 'the person may not enter this application'

/** With `prompt=none`, and where the person gives up, the application is told `access_denied`. */
function accessPrompt(): Prompt {
  const verdict = ({ oidc: { account, client } }: Context) =>
    account && client && !account.mayEnter(client) ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT
  const check = new Check('not_allowed', NOT_ALLOWED, 'access_denied', verdict)
  return new Prompt({ name: ACCESS, requestable: false }, check)
}

/**
 * On another screen people are always asked: whoever copies an application's id can show a code, and talk somebody into typing
 * it (RFC 8628 §5.4).
 */
const deviceCheck = (): Check =>
  new Check('device_prompt', 'the person must agree', 'interaction_required', ({ oidc }) =>
    oidc.entities.DeviceCode !== undefined && oidc.result?.consent === undefined
      ? Check.REQUEST_PROMPT
      : Check.NO_NEED_TO_PROMPT,
  )
/** Sessions from before it was required are asked too. */
function passkeyPrompt(passkeys: PasskeyPolicy): Prompt {
  const offered = new Check('offered', 'a passkey is offered', undefined, ({ oidc }) => {
    return oidc.result?.login?.offersPasskey === true && oidc.result.passkey === undefined
  })
  const isDue = ({ oidc: { account, session } }: Context) =>
    passkeys === 'required' && account !== undefined && session.acr !== TWO_FACTORS
  const required = new Check('required', 'a passkey is required', 'login_required', isDue)
  return new Prompt({ name: PASSKEY, requestable: false }, offered, required)
}

/** Without it there is no ID token, and applications are to know who signs in. @throws InvalidRequest */
function rejectWithoutOpenid({ requestParamOIDCScopes }: Context['oidc']): boolean {
  if (!requestParamOIDCScopes.has('openid')) {
    throw new InvalidRequest('the scope openid must be requested')
  }
  return false
}

/** The redirect URI may be removed while the person signs in, after the library's check. @throws InvalidRedirectUri */
function rejectRemovedRedirect({ params, client }: Context['oidc']): boolean {
  const uri = params?.['redirect_uri']
  if (uri !== undefined && client?.redirectUriAllowed(uri) === false) {
    throw new InvalidRedirectUri()
  }
  return false
}

/**
 * The library compares `id_token_hint` with the existing session, but not with the person who then signs in. A client that
 * named one person must not receive a code for another (OpenID Connect Core §3.1.2.1).
 * @throws LoginRequired
 */
function rejectOtherSubject({ params, session, result }: Context['oidc']): boolean {
  const hint = params?.['id_token_hint']
  if (hint === undefined || result?.login === undefined) return false
  // The library verified its signature when the request arrived.
  if (decode(hint).payload.sub === session.accountId) return false
  throw new LoginRequired('id_token_hint and authenticated subject do not match')
}

/** A scope that outlives the session always requires consent. */
const NEEDS_CONSENT = 'offline_access'

/**
 * Clients are registered by the operator, so their scopes are granted without consent unless they send `prompt=consent`,
 * which `offline_access` requires.
 */
export const grantWithoutConsent =
  (provider: () => Provider) =>
  async ({ oidc }: Context): Promise<Grant | undefined> => {
    const { client, account, session, result } = oidc
    if (client === undefined || account === undefined) return undefined
    const { Grant: Grants } = provider()
    const id = result?.consent?.grantId ?? session.grantIdFor(client.clientId)
    const known = id === undefined ? undefined : await Grants.find(id)
    // A native app's person is asked each time, by the library's own policy.
    const isAsked =
      oidc.prompts.has('consent') ||
      oidc.entities.DeviceCode !== undefined ||
      client.applicationType === 'native'
    if (result?.consent !== undefined || isAsked) return known
    const { accountId } = account
    const granted = known?.getOIDCScope().split(' ') ?? []
    const missing = [...oidc.requestParamOIDCScopes].filter(
      (scope) => scope !== NEEDS_CONSENT && !granted.includes(scope),
    )
    // Written in vain it would make those who write it at the same time, such as refreshes, run again.
    if (known !== undefined && missing.length === 0) return known
    const grant = known ?? new Grants({ accountId, clientId: client.clientId })
    grant.addOIDCScope(missing.join(' '))
    await grant.save()
    return grant
  }
