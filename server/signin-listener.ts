/** The sign-in provider on its own listener. Only this module loads it. */
import { isIP } from 'node:net'
import { cabinetClient } from '#cabinet/client.ts'
import type { Cabinet, CabinetPlace, CabinetSettings, ThirdParties } from '#cabinet/deps.ts'
import type { Clock } from '#domain/clock.ts'
import { isLoopbackHost } from '#domain/loopback.ts'
import type { SmtpServer } from '#notify/smtp-server.ts'
import { type WebhookPermissions, webhookPolicy } from '#notify/webhook-policy.ts'
import { type Brand, NO_BRAND } from '#pages/brand.ts'
import type { SigninApp } from '#signin/app.ts'
import type { SigninLimits } from '#signin/limits.ts'
import type { Signin } from '#signin/open.ts'
import type { Signup } from '#signin/register/access.ts'
import { newClientSecret } from '#signin/register/client.ts'
import { isLoopbackHttp } from '#signin/register/identity-provider.ts'
import type { PasskeyPolicy } from '#signin/register/passkey.ts'
import type { SigninEvent } from '#signin/register/signin-event.ts'
import type { SigninStore } from '#signin/store.ts'
import type { CodeMailer } from './code-mailer.ts'
import { identityReach } from './identity-reach.ts'
import { type Listener, listen, type Place } from './listener.ts'

export interface SigninOptions {
  readonly listen: Place
  /** `{auth_url}`, the public URL without a path; null uses the listening address. */
  readonly authUrl: string | null
  readonly signup: Signup
  readonly passkeys?: PasskeyPolicy | undefined
  /** Whom people may ask for access. */
  readonly contact?: string | undefined
  readonly brand?: Brand | undefined
  readonly limits: SigninLimits
  /** The pages for the people who own accounts; null: none. */
  readonly cabinet?: CabinetSettings | null
  /** Without a mail server: writes codes to the log; null disables sign-in by e-mail. */
  readonly logCode: ((email: string, code: string) => void) | null
}

export interface SigninListenerDeps {
  readonly store: SigninStore
  /** Whether the store takes writes: almost every page stores something, and would wait for the disk. */
  isWritable(): Promise<boolean>
  readonly clock: Clock
  /** For what is deleted for its age. */
  readonly steadyClock: Clock
  readonly smtp: SmtpServer | null
  /** Where applications may be told of sign-outs. */
  readonly webhooks: WebhookPermissions
  /** Null without the cabinet. */
  readonly openCabinet: ((place: CabinetPlace) => Promise<Cabinet>) | null
  /** Counts an event of signing in. */
  observed(event: SigninEvent): void
  logFault(cause: unknown, errorId?: string): void
}

export interface SigninListener {
  /** The listening address: `http://host:port`. */
  readonly url: string
  readonly issuer: string
  /** Whether codes reach people. */
  readonly mailsCodes: boolean
  readonly codeMailFailure: CodeMailer['failure']
  /** Says that a mail is in the store. */
  wakeMails(): void
  /** Waits briefly for responses and mails in progress. */
  stop(): Promise<void>
}

/** Listens, and resolves once its keys are loaded. @throws the error of `listen` if the address is taken */
export async function startSignin(
  options: SigninOptions,
  {
    store,
    isWritable,
    clock,
    steadyClock,
    smtp,
    webhooks,
    openCabinet,
    observed,
    logFault,
  }: SigninListenerDeps,
): Promise<SigninListener> {
  const { promise: app, resolve, reject } = Promise.withResolvers<Endpoints>()
  // A request before it is ready gets the listener's error; this only avoids an unhandled rejection.
  app.catch(() => {})
  const listener: Listener = listen(options.listen, async (request) => {
    const { provider, cabinet } = await app
    const address = addressOf(request, listener)
    const page = await cabinet?.answer(request, address)
    if (page != null) return page
    if (!isServedFromMemory(request) && !(await isWritable())) return unavailable()
    return provider.answer(request, address)
  })
  const issuer = options.authUrl ?? listener.url
  try {
    const [{ openSigninProvider }, { startLogoutCourier }, mailer] = await Promise.all([
      import('#signin/open.ts'),
      import('./logout-courier.ts'),
      openCodeChannel(options, { store, clock, smtp, logFault }),
    ])
    const { signup, passkeys, contact, brand = NO_BRAND, limits } = options
    const secret = newClientSecret()
    const provider = await openSigninProvider({
      store,
      clock,
      steadyClock,
      issuer,
      codeDelivery: mailer.delivery,
      application: openCabinet && cabinetClient(issuer, brand.name, secret.digest, clock.now()),
      reach: identityReach(isLoopbackHttp(new URL(issuer))),
      signup,
      passkeys,
      contact,
      brand,
      limits,
      observed,
      logFault,
    })
    const { logouts } = store
    const policy = webhookPolicy(webhooks)
    const courier = startLogoutCourier({ logouts, clock, policy, signin: provider, logFault })
    const place = {
      issuer,
      secret: secret.secret,
      ask: provider.answer,
      thirdParties: toThirdParties(provider.identities),
      observed,
      passkeys: provider.passkeys,
    }
    const cabinet = (await openCabinet?.(place)) ?? null
    resolve({ provider, cabinet })
    return {
      url: listener.url,
      issuer,
      mailsCodes: mailer.delivery.kind !== 'none',
      codeMailFailure: mailer.failure,
      wakeMails: () => mailer.delivery.kind === 'mail' && mailer.delivery.wake(),
      async stop() {
        provider.close()
        await listener.close()
        await Promise.all([mailer.close(), courier.close()])
      },
    }
  } catch (cause) {
    reject(cause)
    await listener.close()
    throw cause
  }
}

/** Logins at third parties, as the cabinet begins them. */
const toThirdParties = (identities: Signin['identities']): ThirdParties => ({
  async send(name, uid) {
    const sending = await identities.send(name, uid, false)
    return sending.kind === 'sent' ? sending.address : null
  },
  async receive(name, uid, answer) {
    const returned = await identities.receive(name, uid, answer)
    if (returned.kind !== 'identified') return null
    const { subject, name: claimedName } = returned.claims
    return { subject, name: claimedName }
  },
})

/** The documents that applications check tokens with, and the script of the pages. */
const isServedFromMemory = ({ url }: Request): boolean =>
  /^https?:\/\/[^/]*\/(?:\.well-known\/|oauth\/jwks$|assets\/)/.test(url)

const unavailable = (): Response =>
  Response.json(
    {
      error: 'temporarily_unavailable',
      error_description: 'the gateway cannot store anything now; try again',
    },
    { status: 503, headers: { 'Retry-After': '5', 'Cache-Control': 'no-store' } },
  )

interface Endpoints {
  readonly provider: SigninApp
  readonly cabinet: Cabinet | null
}

async function openCodeChannel(
  { logCode }: SigninOptions,
  {
    store,
    clock,
    smtp,
    logFault,
  }: Pick<SigninListenerDeps, 'store' | 'clock' | 'smtp' | 'logFault'>,
): Promise<CodeMailer> {
  if (smtp !== null) {
    const { startCodeMailer } = await import('./code-mailer.ts')
    return startCodeMailer({ mails: store.codeMails, smtp, clock, logFault })
  }
  const close = async (): Promise<void> => {}
  const failure = () => null
  return logCode === null
    ? { delivery: { kind: 'none' }, failure, close }
    : { delivery: { kind: 'log', log: logCode }, failure, close }
}

/**
 * The client's address. X-Forwarded-For is trusted only from a proxy on loopback, and only its last entry, which that proxy
 * added itself.
 */
function addressOf(request: Request, listener: Listener): string {
  const peer = listener.addressOf(request) ?? ''
  if (!isLoopbackHost(peer)) return peer
  const last = request.headers.get('x-forwarded-for')?.split(',').at(-1)?.trim() ?? ''
  return isIP(last) === 0 ? peer : last
}
