/** An interaction: the pages that a person sees between a client's authorization request and its authorization code. */
import { SessionNotFound } from 'oidc-provider/lib/helpers/errors.js'
import type { Interaction, Provider } from 'oidc-provider/lib/provider.js'
import type { Instant } from '#domain/clock.ts'
import { readLanguage } from '#pages/language.ts'
import { type Bridge, openBridge } from './bridge.ts'
import { ONE_FACTOR } from './claims.ts'
import { readForm } from './form-body.ts'
import {
  type Call,
  type InteractionContext,
  noteOutcome,
  type SigninContext,
} from './interaction-context.ts'
import {
  linkPendingIdentity,
  pendingIdentityLabel,
  receiveFromThirdParty,
  sendToThirdParty,
} from './interaction-identity.ts'
import {
  codePage,
  currentPerson,
  disabledPage,
  endedPage,
  failPage,
  finish,
  formOf,
  mayOfferPasskey,
  page,
  restartAsOther,
  seeOther,
  signInPage,
} from './interaction-pages.ts'
import { answerPasskey, signInByPasskey } from './interaction-passkey.ts'
import { readCode } from './mail-code.ts'
import { type Outcome, outcomePath, readOutcome, signInProblem } from './outcome.ts'
import type { ErrorKind } from './pages/view.ts'
import { ACCESS, NOT_ALLOWED, PASSKEY } from './policy.ts'
import { interactionPath } from './provider.ts'
import { mayEnter, maySignUp } from './register/access.ts'
import { digestOf } from './register/digest.ts'
import { readEmail } from './register/email.ts'
import type { PendingCode } from './register/mail-code.ts'
import { newPerson, type PersonId } from './register/person.ts'
import { requestArtifacts } from './request-artifacts.ts'
import { keepTyped, readTyped } from './typed-address.ts'

/** Handles a request to `/sign-in/:uid`. Never throws an error that a person could have caused. */
export async function answerInteraction(signin: SigninContext, call: Call): Promise<Response> {
  const { deps, provider } = signin
  const { request, uid } = call
  const language = readLanguage(request.headers.get('accept-language'))
  const fail = (kind: ErrorKind) => failPage(deps, language, kind)
  if (request.method === 'POST' && !isOwnForm(request, deps.issuer)) return fail('other-browser')
  const bridge = openBridge(request, interactionPath(uid), null, call.address)
  const interaction = await find(provider, bridge)
  if (typeof interaction === 'string') return fail(interaction)
  if (interaction.uid !== uid) return fail('other-browser')
  const client = await deps.store.clients.find(interaction.params['client_id'] ?? '')
  if (client === undefined) return fail('unknown-client')
  const locales = interaction.params['ui_locales']
  const context: InteractionContext = {
    ...signin,
    call,
    bridge,
    interaction,
    client,
    language: readLanguage(request.headers.get('accept-language'), locales),
  }
  switch (interaction.prompt.name) {
    case 'consent':
      return answerConsent(context)
    case ACCESS:
      return answerNotAllowed(context)
    case PASSKEY:
      return answerPasskey(context)
    default:
      return answerSignIn(context)
  }
}

async function find(provider: Provider, { req, res }: Bridge): Promise<Interaction | ErrorKind> {
  try {
    return await provider.interactionDetails(req, res)
  } catch (thrown) {
    if (!(thrown instanceof SessionNotFound)) throw thrown
    if (req.headers.cookie === undefined) return 'other-browser'
    const { accountId } = await provider.Session.get({ req, res })
    return accountId === undefined ? 'expired' : 'signed-in'
  }
}

/** Whether a form was posted from our own origin. A request without these headers is not from a browser, so CSRF does not apply. */
export function isOwnForm({ headers }: Request, issuer: string): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin' || site === 'none'
  const origin = headers.get('origin')
  return origin === null || origin === new URL(issuer).origin
}

async function answerSignIn(context: InteractionContext): Promise<Response> {
  const { call, deps, interaction } = context
  if (call.identity !== null) return answerIdentity(context, call.identity)
  const fields = call.body === null ? undefined : readForm(call.request, call.body)
  if (call.step === 'continue') return continueAsCurrent(context)
  if (call.step === 'passkey') return signInByPasskey(context)
  if (call.step === 'email') return takeEmail(context, fields?.get('email') ?? '')
  const code = await deps.store.mailCodes.pending(digestOf(call.uid))
  const pending = code?.isUsed ? undefined : code
  if (call.step === 'restart') {
    await deps.store.mailCodes.drop(digestOf(call.uid))
    await deps.store.detours.drop(digestOf(call.uid))
    return seeOther(interactionPath(call.uid))
  }
  // The form was submitted twice, by a double click: the browser shows only the answer to the second.
  if (call.step === 'code' && pending === undefined && interaction.result?.login !== undefined) {
    return seeOther(new URL(interaction.returnTo).pathname)
  }
  // The first of them is about to complete the interaction.
  if (call.step === 'code' && code?.isUsed) requestArtifacts().giveWay()
  if (call.step === null) return showState(context, pending)
  if (pending !== undefined && call.step === 'resend') return sendAgain(context, pending)
  if (pending === undefined || call.step !== 'code') return seeOther(interactionPath(call.uid))
  return takeCode(context, pending, fields ?? new URLSearchParams())
}

/** Problems that the sign-in page shows, whatever codes there are. */
const AFTER_SIGN_IN = ['email', 'identity', 'passkey']

/** The page at which the interaction is, with what the last form has led to. */
async function showState(
  context: InteractionContext,
  pending: PendingCode | undefined,
): Promise<Response> {
  const { call, deps } = context
  const outcome = readOutcome(call.request.url)
  const { after } = outcome
  if (pending !== undefined && !AFTER_SIGN_IN.includes(after ?? '')) {
    return codePage(context, pending, outcome)
  }
  const provider =
    after === 'identity' ? await deps.store.identityProviders.find(outcome.provider) : undefined
  const problem = signInProblem(outcome, provider?.label, deps.clock)
  const typed = problem === undefined ? undefined : readTyped(deps.issuer, call.request)
  return signInPage(context, problem, typed)
}

/** For `select_account`: the person of the session goes on. */
const continueAsCurrent = async (context: InteractionContext): Promise<Response> =>
  (await currentPerson(context)) === undefined
    ? seeOther(interactionPath(context.call.uid))
    : finish(context, {})

function answerIdentity(context: InteractionContext, name: string): Promise<Response> {
  switch (context.call.request.method) {
    case 'POST':
      return sendToThirdParty(context, name)
    case 'GET':
      return receiveFromThirdParty(context, name)
    default:
      // A HEAD request must not consume anything.
      return signInPage(context)
  }
}

async function takeEmail(context: InteractionContext, typed: string): Promise<Response> {
  const { call, deps } = context
  const refuse = (problem: Omit<Outcome, 'after'>): Response => {
    const answer = seeOther(outcomePath(call.uid, { after: 'email', ...problem }))
    answer.headers.append('Set-Cookie', keepTyped(deps.issuer, call.uid, typed))
    return answer
  }
  const email = readEmail(typed)
  if (email === undefined || deps.codeDelivery.kind === 'none') {
    return refuse({ problem: 'unreadable' })
  }
  await leaveUnprovedSession(context)
  const until = await send(context, email)
  return until === null
    ? seeOther(interactionPath(call.uid))
    : refuse({ problem: 'too-many-codes', until })
}

/** The first proof of an address ends the sessions of its person, and would end an interaction that belongs to one. */
async function leaveUnprovedSession({ deps, interaction }: InteractionContext): Promise<void> {
  const person = await deps.store.people.find((interaction.session?.accountId ?? '') as PersonId)
  if (person === undefined || person.isEmailVerified) return
  delete interaction.session
  await interaction.persist()
}

async function sendAgain(context: InteractionContext, pending: PendingCode): Promise<Response> {
  const { uid } = context.call
  const until = await send(context, pending.email)
  const problem = until === null ? {} : ({ problem: 'too-many-codes', until } as const)
  return seeOther(outcomePath(uid, { after: 'resend', ...problem }))
}

/** Null if the code is sent, else when another may be requested. */
async function send(context: InteractionContext, email: string): Promise<Instant | null> {
  const { codeFlow, knownBrowsers, call, client, language } = context
  const { uid, address } = call
  const links = await pendingIdentityLabel(context)
  const verdict = await codeFlow.send({
    uid,
    email,
    client,
    language,
    address,
    knownBrowser: knownBrowsers.recognise(call.request, email),
    links,
  })
  return verdict.isIssued ? null : verdict.nextAt
}

async function takeCode(
  context: InteractionContext,
  pending: PendingCode,
  fields: URLSearchParams,
): Promise<Response> {
  const { uid } = context.call
  const refuse = (problem: Omit<Outcome, 'after'>): Response =>
    seeOther(outcomePath(uid, { after: 'code', ...problem }))
  const code = readCode(fields.get('code') ?? '')
  if (code === undefined) return refuse({ problem: 'unreadable' })
  const redemption = await context.codeFlow.redeem(uid, pending.email, code)
  const person = await context.deps.store.people.findByEmail(pending.email)
  const whose = person === undefined ? { email: pending.email } : { personId: person.id }
  switch (redemption.verdict) {
    case 'wrong':
      noteOutcome(context, 'wrong_code', whose)
      return refuse({ problem: 'wrong', left: redemption.attemptsLeft })
    case 'expired':
      // Used, at this moment, by the first of two submissions.
      if (pending.expiresAt > context.deps.clock.now()) requestArtifacts().giveWay()
      noteOutcome(context, 'code_expired', whose)
      return refuse({ problem: 'expired' })
    case 'spent':
      noteOutcome(context, 'code_spent', whose)
      return refuse({ problem: 'spent' })
    case 'right':
      return completeSignIn(context, redemption.email, fields.get('passkeys') === 'yes')
  }
}

/** The address is verified. `hasPasskeys`: whether the browser says that it knows of passkeys. */
async function completeSignIn(
  context: InteractionContext,
  email: string,
  hasPasskeys: boolean,
): Promise<Response> {
  const { deps } = context
  const at = deps.clock.now()
  const newcomer = maySignUp(deps.signup, email) ? newPerson(email, at) : null
  const begunAt = await requestArtifacts().revocationsBefore()
  const person = await deps.store.people.confirmEmail(email, newcomer, at, begunAt)
  if (person === undefined) return seeOther(interactionPath(context.call.uid))
  if (person === 'revoked') return endedPage(context, { email })
  if (person.disabledAt !== null) return disabledPage(context, person)
  if (person.id === newcomer?.id) noteOutcome(context, 'signed_up', { personId: person.id })
  await linkPendingIdentity(context, person)
  const isOffer = hasPasskeys && mayOfferPasskey(context)
  const offersPasskey = isOffer && (await deps.store.passkeys.ofPerson(person.id)).length === 0
  const answer = await finish(context, {
    login: { accountId: person.id, acr: ONE_FACTOR, amr: ['otp'], by: 'code', offersPasskey },
  })
  answer.headers.append('Set-Cookie', context.knownBrowsers.remember(context.call.request, email))
  return answer
}

/** The person is signed in, and may not enter this application: they leave, or sign in as somebody else. */
async function answerNotAllowed(context: InteractionContext): Promise<Response> {
  const { call, client, deps, interaction } = context
  switch (call.step) {
    case 'leave':
      return finish(context, { error: 'access_denied', error_description: NOT_ALLOWED })
    case 'restart':
      return restartAsOther(context)
    case null: {
      const person = await deps.store.people.find(
        (interaction.session?.accountId ?? '') as PersonId,
      )
      return page(context, {
        page: 'not-allowed',
        clientName: client.name,
        email: person?.email,
        isUnproved:
          person?.isEmailVerified === false &&
          mayEnter(client.access, { ...person, isEmailVerified: true, groups: [] }),
        contact: deps.contact,
        leave: formOf(context, 'leave'),
        restart: formOf(context, 'restart'),
      })
    }
    default:
      return seeOther(interactionPath(call.uid))
  }
}

async function answerConsent(context: InteractionContext): Promise<Response> {
  const { call, interaction, provider, client, deps } = context
  const accountId = interaction.session?.accountId ?? ''
  const person = await deps.store.people.find(accountId as PersonId)
  if (person === undefined) return failPage(deps, context.language, 'expired')
  const scopes = (interaction.params['scope'] ?? '').split(' ').filter((scope) => scope !== '')
  if (call.step !== null && call.step !== 'consent') return seeOther(interactionPath(call.uid))
  if (call.body === null) {
    const form = formOf(context, 'consent')
    return page(context, {
      page: 'consent',
      clientName: client.name,
      email: person.email,
      scopes,
      form,
    })
  }
  if (readForm(call.request, call.body)?.get('decision') !== 'allow') {
    return finish(context, { error: 'access_denied', error_description: 'the person said no' })
  }
  const { Grant } = provider
  const known =
    interaction.grantId === undefined ? undefined : await Grant.find(interaction.grantId)
  const grant = known ?? new Grant({ accountId, clientId: client.id })
  grant.addOIDCScope(scopes.join(' '))
  return finish(context, { consent: { grantId: await grant.save() } })
}
