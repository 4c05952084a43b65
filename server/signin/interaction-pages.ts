/** The pages of an interaction, and the responses that end it. */
import type { Payload } from 'oidc-provider/lib/provider.js'
import { unixSeconds } from '#domain/clock.ts'
import type { Language } from '#domain/language.ts'
import { PASSKEY_SCRIPT } from '#pages/passkeys.ts'
import { isDeclined } from './declined-passkey.ts'
import type { SigninDeps } from './deps.ts'
import { type InteractionContext, noteOutcome } from './interaction-context.ts'
import { CODE_MINUTES } from './mail-code.ts'
import { codeProblem, type ReadOutcome } from './outcome.ts'
import { formTarget } from './pages/form-target.ts'
import { pageResponse } from './pages/respond.ts'
import type {
  CodeProblem,
  ErrorKind,
  IdentityChoice,
  PageView,
  PasskeyAsked,
  SignInProblem,
} from './pages/view.ts'
import { SELECT_ACCOUNT } from './policy.ts'
import { interactionPath } from './provider.ts'
import { digestOf } from './register/digest.ts'
import type { PendingCode } from './register/mail-code.ts'
import type { Person, PersonId } from './register/person.ts'
import type { SigninFacts } from './register/signin-event.ts'
import type { Step } from './routes.ts'

/** Redirects to the protocol library, which resumes the authorization request and redirects to the client (`onward.ts`). */
export async function finish(
  { provider, bridge, interaction, deps }: InteractionContext,
  result: Payload,
): Promise<Response> {
  const { req, res, answer } = bridge
  const mergeWithLastSubmission = 'consent' in result || 'passkey' in result
  const isChosen =
    interaction.prompt.name === SELECT_ACCOUNT ||
    interaction.lastSubmission?.select_account !== undefined
  // The instant of the proof: `auth_time`, however long what follows takes.
  const login = result['login'] && { ts: unixSeconds(deps.clock.now()), ...Object(result['login']) }
  const proved = login ? { ...result, login } : result
  const whole = isChosen && !('error' in result) ? { select_account: {}, ...proved } : proved
  await provider.interactionFinished(req, res, whole, { mergeWithLastSubmission })
  const response = await answer
  response.headers.set('Cache-Control', 'no-store')
  return response
}

/** Without a problem, names the third-party identity that is pending until the address is verified by a code. */
export async function signInPage(
  context: InteractionContext,
  problem?: SignInProblem,
  typed?: string,
): Promise<Response> {
  const { interaction, client, deps, call } = context
  const form = deps.codeDelivery.kind === 'none' ? undefined : formOf(context, 'email')
  const waiting = await deps.store.detours.pendingIdentity(digestOf(call.uid), deps.clock.now())
  const shownProblem = problem ?? (await noticeOf(context, waiting?.provider))
  const email = typed ?? waiting?.claimedEmail ?? interaction.params['login_hint']?.slice(0, 254)
  const status = problem === undefined ? 200 : problem.kind === 'too-many-codes' ? 429 : 400
  const identities = await choicesOf(context)
  const person = await currentPerson(context)
  const passkey = await passkeyAsked(context)
  return page(
    context,
    {
      page: 'sign-in',
      clientName: client.name,
      form,
      email,
      problem: shownProblem,
      identities,
      current: person && { email: person.email, form: formOf(context, 'continue') },
      passkey,
      script: passkey && PASSKEY_SCRIPT.path,
    },
    status,
  )
}

/** Who may go on without proof: the person of the session, where the application asked which account. */
export async function currentPerson({
  interaction,
  deps,
}: InteractionContext): Promise<Person | undefined> {
  const id = interaction.session?.accountId
  if (interaction.prompt.name !== SELECT_ACCOUNT || id === undefined) return undefined
  const person = await deps.store.people.find(id as PersonId)
  return person?.disabledAt === null ? person : undefined
}

async function passkeyAsked(context: InteractionContext): Promise<PasskeyAsked | undefined> {
  const { passkeys, call } = context
  if (passkeys === null) return undefined
  const options = await passkeys.ask(digestOf(call.uid), null)
  return { form: formOf(context, 'passkey'), options }
}

async function noticeOf(
  { deps }: InteractionContext,
  name: string | undefined,
): Promise<SignInProblem | undefined> {
  const provider = name === undefined ? undefined : await deps.store.identityProviders.find(name)
  if (provider === undefined) return undefined
  const kind = deps.codeDelivery.kind === 'none' ? 'identity-unknown' : 'identity-unproved'
  return { kind, name: provider.label }
}

async function choicesOf({ deps, call }: InteractionContext): Promise<readonly IdentityChoice[]> {
  return (await deps.store.identityProviders.list()).map(({ name, label, issuer }) => ({
    name: label,
    mark: MARKED[issuer],
    form: { action: identityPath(call.uid, name), hidden: {} },
  }))
}

const MARKED: Readonly<Record<string, IdentityChoice['mark']>> = {
  'https://accounts.google.com': 'google',
  'https://github.com': 'github',
}

/** Where a provider's button posts to, and where its callback ends. */
export const identityPath = (uid: string, name: string): string =>
  `${interactionPath(uid)}/identity/${name}`

export function codePage(
  context: InteractionContext,
  { email, expiresAt, attemptsLeft }: PendingCode,
  outcome: ReadOutcome,
): Promise<Response> {
  const { clock } = context.deps
  const submitted = codeProblem(outcome, clock)
  const status = submitted === undefined ? 200 : submitted.kind === 'too-many-codes' ? 429 : 400
  const sentAgain = outcome.after === 'resend' && submitted === undefined
  const spent = attemptsLeft === 0 ? ({ kind: 'spent' } as const) : undefined
  const problem: CodeProblem | undefined =
    expiresAt <= clock.now() ? { kind: 'expired' } : (submitted ?? spent)
  return page(
    context,
    {
      page: 'code',
      clientName: context.client.name,
      email,
      form: formOf(context, 'code'),
      resend: formOf(context, 'resend'),
      restart: formOf(context, 'restart'),
      minutes: CODE_MINUTES,
      sentTo: context.deps.codeDelivery.kind === 'log' ? 'log' : 'mail',
      sentAgain,
      problem,
      script: mayOfferPasskey(context) ? PASSKEY_SCRIPT.path : undefined,
    },
    status,
  )
}

/** Whether who signs in here by a code, and has no passkey, may be offered one. */
export const mayOfferPasskey = ({ passkeys, call, deps }: InteractionContext): boolean =>
  passkeys !== null && !passkeys.isRequired && !isDeclined(deps.issuer, call.request)

/** For a disabled person, shown only after they have authenticated. */
export function disabledPage(
  context: InteractionContext,
  { id, email }: Person,
): Promise<Response> {
  noteOutcome(context, 'disabled', { personId: id })
  return page(context, { page: 'disabled', email, restart: formOf(context, 'restart') })
}

/** Forms need no hidden CSRF field: the interaction's cookie is bound to the path. */
export const formOf = ({ call }: InteractionContext, step: Step) => ({
  action: `${interactionPath(call.uid)}/${step}`,
  hidden: {},
})

export function page(
  context: InteractionContext,
  view: PageView,
  status?: number,
): Promise<Response> {
  const target = formTarget(context.interaction.params['redirect_uri'] ?? '')
  return pageResponse(view, {
    language: context.language,
    issuer: context.deps.issuer,
    brand: context.deps.brand,
    formTargets: target === undefined ? [] : [target],
    status,
  })
}

/** For a person who was revoked after the interaction began, which ends with it. */
export async function endedPage(
  context: InteractionContext,
  facts: Partial<SigninFacts>,
): Promise<Response> {
  const { interaction, deps, language } = context
  noteOutcome(context, 'revoked', facts)
  await interaction.destroy()
  return failPage(deps, language, 'expired')
}

/** Goes on as if nobody were signed in, for somebody else. */
export async function restartAsOther({ interaction, call }: InteractionContext): Promise<Response> {
  interaction.prompt = { ...interaction.prompt, name: 'login' }
  await interaction.persist()
  return seeOther(interactionPath(call.uid))
}

/** The error page for an interaction that cannot continue. */
export const failPage = (
  { issuer, brand }: Pick<SigninDeps, 'issuer' | 'brand'>,
  language: Language,
  kind: ErrorKind,
  errorId?: string,
): Promise<Response> => pageResponse({ page: 'error', kind, errorId }, { language, issuer, brand })

export const seeOther = (location: string): Response =>
  new Response(null, { status: 303, headers: { Location: location, 'Cache-Control': 'no-store' } })
