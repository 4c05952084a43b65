/** The pages of the device flow (RFC 8628 §3.3): the code that a device shows is typed, confirmed, and done. */
import { AbortedError, ReRenderError } from 'oidc-provider/lib/helpers/re_render_errors.js'
import { denormalize, normalize } from 'oidc-provider/lib/helpers/user_codes.js'
import type { Context, DeviceCode } from 'oidc-provider/lib/provider.js'
import type { SigninDeps } from './deps.ts'
import { show, showProblem } from './library-pages.ts'
import type { DeviceProblem } from './pages/view.ts'
import { ACCESS } from './policy.ts'
import type { PersonId } from './register/person.ts'
import type { Refusal, SigninFacts } from './register/signin-event.ts'
import { noteEvent } from './request-artifacts.ts'
import { DEVICE } from './routes.ts'

/** Eight of twenty consonants, which spell no word (RFC 8628 §6.1): one of 25 billion. */
const MASK = '****-****'

const MAX_TYPED = 64

/** Named unlike the parameter of RFC 8628, which the library answers by a form that submits itself. */
const TYPED = 'typed'

/** A form is answered by a redirect, so that neither Back nor a reload submits it again; by then this is known. */
const AFTER = 'after'

/** What the library is asked for a request to the page. */
export function toDevicePage({ searchParams }: URL): string {
  const typed = searchParams.get('user_code')?.slice(0, MAX_TYPED).toWellFormed()
  const after = searchParams.get(AFTER)
  const query = new URLSearchParams()
  if (typed) query.set(TYPED, typed)
  if (after !== null) query.set(AFTER, after)
  return `${DEVICE}?${query}`
}

/** Where a code is confirmed that was typed, by a person or by a picture that led them here. */
export const confirmPath = (typed: string): string =>
  `${DEVICE}?${new URLSearchParams({ user_code: typed.slice(0, MAX_TYPED).toWellFormed() })}`

/** The settings of the library's device flow. */
export const deviceFlow = (deps: SigninDeps) => ({
  enabled: true,
  charset: 'base-20',
  mask: MASK,
  deviceInfo: ({ ip }: Context) => ({ address: ip }),
  userCodeInputSource: (ctx: Context, _form: string, out?: object, cause?: unknown) =>
    cause === undefined ? showDevice(deps, ctx) : showDeviceFailure(deps, ctx, out ?? {}, cause),
  successSource: async (ctx: Context) => {
    const { client, account } = ctx.oidc
    const person = await deps.store.people.find((account?.accountId ?? '') as PersonId)
    await show(deps, ctx, {
      page: 'device-done',
      clientName: client?.clientName ?? '',
      email: person?.email ?? '',
    })
  },
})

async function showDevice(deps: SigninDeps, ctx: Context): Promise<void> {
  const { searchParams: query } = new URL(ctx.request.url, deps.issuer)
  const typed = query.get(TYPED)
  const after = query.get(AFTER)
  if (after === 'denied') return show(deps, ctx, { page: 'device-denied' })
  if (typed === null) {
    return showEntry(deps, ctx, after === 'unknown' ? { kind: 'unknown' } : undefined)
  }
  const userCode = normalize(typed)
  const code = await openCode(ctx, userCode)
  const client = code && (await deps.store.clients.find(code.clientId))
  if (code === undefined || client === undefined) {
    noteDevice(deps, ctx, 'wrong_device_code')
    return showEntry(deps, ctx, { kind: 'unknown' }, typed)
  }
  const { secret = '' } = ctx.oidc.session.state ?? {}
  const person = await deps.store.people.find((ctx.oidc.session.accountId ?? '') as PersonId)
  await show(deps, ctx, {
    page: 'device-confirm',
    clientName: client.name,
    code: denormalize(userCode, MASK),
    address: code.deviceInfo?.address ?? '',
    email: person?.email,
    form: { action: DEVICE, hidden: { xsrf: secret, user_code: userCode } },
  })
}

/** One that waits for its person; an unknown, a used and an expired code are all alike. */
async function openCode({ oidc }: Context, userCode: string): Promise<DeviceCode | undefined> {
  const code = await oidc.provider.DeviceCode.findByUserCode(userCode)
  const isUsed = code?.error ?? code?.accountId ?? code?.inFlight
  return isUsed === undefined ? code : undefined
}

const showEntry = (
  deps: SigninDeps,
  ctx: Context,
  problem?: DeviceProblem,
  typed?: string,
): Promise<void> =>
  show(deps, ctx, { page: 'device', form: { action: DEVICE, hidden: {} }, code: typed, problem })

async function showDeviceFailure(
  deps: SigninDeps,
  ctx: Context,
  out: object,
  cause: unknown,
): Promise<void> {
  // The library has given the session a secret for a form that no page here has, and would fail to store it in a new one.
  ctx.oidc.session.touched = false
  if (!(cause instanceof ReRenderError)) return showProblem(deps, ctx, out, cause)
  const isDenied = cause instanceof AbortedError
  // Who gave up where they may not enter is noted already.
  const isNoted = ctx.oidc.entities.Interaction?.prompt.name === ACCESS
  if (!isNoted) noteDevice(deps, ctx, isDenied ? 'access_denied' : 'wrong_device_code')
  ctx.status = 303
  ctx.redirect(`${DEVICE}?${AFTER}=${isDenied ? 'denied' : 'unknown'}`)
}

function noteDevice(
  { clock }: SigninDeps,
  { ip, oidc }: Context,
  outcome: Refusal | 'access_denied',
): void {
  const facts: SigninFacts = {
    outcome,
    address: ip,
    clientId:
      oidc.entities.DeviceCode?.clientId ?? oidc.entities.Interaction?.params['client_id'] ?? null,
    personId: (oidc.session.accountId as PersonId | undefined) ?? null,
  }
  noteEvent(clock, facts)
}
