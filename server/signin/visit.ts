/** A person's visit: the pages between a client's request and the code that it gets, one interaction at a time. */
import { SessionNotFound } from 'oidc-provider/lib/helpers/errors.js'
import type { Interaction, Provider } from 'oidc-provider/lib/provider.js'
import { MINUTE_MS } from '#domain/clock.ts'
import { openPassage, type Passage } from './bridge.ts'
import { readForm } from './form-body.ts'
import type { IdentityDesk } from './identities/desk.ts'
import { type CodeDesk, readCode } from './mail-code.ts'
import { type Language, readLanguage } from './pages/language.ts'
import type { CodeProblem, ErrorKind } from './pages/view.ts'
import { interactionPath } from './provider.ts'
import type { Client } from './register/client.ts'
import { digestOf } from './register/digest.ts'
import { readEmail } from './register/email.ts'
import type { PendingCode } from './register/mail-code.ts'
import { newPerson, type PersonId } from './register/person.ts'
import type { SideHouse } from './side-house.ts'
import type { VisitBound } from './visit-bound.ts'
import {
  linkWaiting,
  receiveFromThirdParty,
  sendToThirdParty,
  waitingLink,
} from './visit-identity.ts'
import {
  codePage,
  disabledPage,
  failPage,
  finish,
  formOf,
  page,
  seeOther,
  signInPage,
} from './visit-pages.ts'

/** What a person may do on a page, as the last part of its form's path. */
export type Step = 'email' | 'code' | 'resend' | 'restart' | 'consent'

export interface Call {
  readonly request: Request
  readonly uid: string
  /** Null for looking at the page. */
  readonly step: Step | null
  /** The identity provider that its path names: a button when posted, the way back from there when looked at. */
  readonly identity: string | null
  readonly body: Uint8Array | null
  /** The network address that asks. */
  readonly address: string
}

export interface Rooms {
  readonly house: SideHouse
  readonly provider: Provider
  readonly desk: CodeDesk
  readonly identities: IdentityDesk
  readonly visits: VisitBound
  /** The same for ways to third parties, whom we ask on a stranger's word. */
  readonly detours: VisitBound
}

/** Everything that one call needs to answer. */
export interface Visit extends Rooms {
  readonly call: Call
  readonly passage: Passage
  readonly interaction: Interaction
  readonly client: Client
  readonly language: Language
}

/** Answers one call of `/sign-in/:uid`. Never throws what a person could have caused. */
export async function answerVisit(rooms: Rooms, call: Call): Promise<Response> {
  const { house, provider } = rooms
  const { request, uid } = call
  const language = readLanguage(request.headers.get('accept-language'))
  const fail = (kind: ErrorKind) => failPage(house, language, kind)
  if (request.method === 'POST' && !isOwnForm(request, house.issuer)) return fail('other-browser')
  const passage = openPassage(request, interactionPath(uid), null, call.address)
  const interaction = await find(provider, passage)
  if (typeof interaction === 'string') return fail(interaction)
  if (interaction.uid !== uid) return fail('other-browser')
  const client = await house.store.clients.find(interaction.params['client_id'] ?? '')
  if (client === undefined) return fail('unknown-client')
  const locales = interaction.params['ui_locales']
  const visit: Visit = {
    ...rooms,
    call,
    passage,
    interaction,
    client,
    language: readLanguage(request.headers.get('accept-language'), locales),
  }
  return interaction.prompt.name === 'consent' ? answerConsent(visit) : answerSignIn(visit)
}

async function find(provider: Provider, { req, res }: Passage): Promise<Interaction | ErrorKind> {
  try {
    return await provider.interactionDetails(req, res)
  } catch (thrown) {
    if (!(thrown instanceof SessionNotFound)) throw thrown
    return req.headers.cookie === undefined ? 'other-browser' : 'expired'
  }
}

/** A form of ours, as far as the browser says where it comes from. What says nothing is no browser that others could lead. */
function isOwnForm({ headers }: Request, issuer: string): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin' || site === 'none'
  const origin = headers.get('origin')
  return origin === null || origin === new URL(issuer).origin
}

async function answerSignIn(visit: Visit): Promise<Response> {
  const { call, house } = visit
  if (call.identity !== null) return answerIdentity(visit, call.identity)
  const fields = call.body === null ? undefined : readForm(call.request, call.body)
  if (call.step === 'email') return takeEmail(visit, fields?.get('email') ?? '')
  const pending = await house.store.mailCodes.pending(digestOf(call.uid))
  if (call.step === 'restart') {
    await house.store.mailCodes.drop(digestOf(call.uid))
    await house.store.detours.drop(digestOf(call.uid))
    return seeOther(interactionPath(call.uid))
  }
  if (pending === undefined || call.step === 'consent') return signInPage(visit)
  if (call.step === 'resend') return sendAgain(visit, pending)
  if (call.step === 'code') return takeCode(visit, pending, fields?.get('code') ?? '')
  return codePage(visit, pending, problemOf(visit, pending))
}

function answerIdentity(visit: Visit, name: string): Promise<Response> {
  switch (visit.call.request.method) {
    case 'POST':
      return sendToThirdParty(visit, name)
    case 'GET':
      return receiveFromThirdParty(visit, name)
    default:
      // Nothing is used up by whoever asks for the head alone.
      return signInPage(visit)
  }
}

async function takeEmail(visit: Visit, typed: string): Promise<Response> {
  const email = readEmail(typed)
  if (email === undefined || visit.house.post.kind === 'none') {
    return signInPage(visit, { kind: 'unreadable' }, typed)
  }
  const minutes = await send(visit, email)
  return minutes === null
    ? seeOther(interactionPath(visit.call.uid))
    : signInPage(visit, { kind: 'too-many-codes', minutes }, typed)
}

async function sendAgain(visit: Visit, pending: PendingCode): Promise<Response> {
  const minutes = await send(visit, pending.email)
  if (minutes !== null) return codePage(visit, pending, { kind: 'too-many-codes', minutes })
  return codePage(visit, pending, undefined, true)
}

/** Null when it is on its way, else in how many minutes another may be asked for. */
async function send(visit: Visit, email: string): Promise<number | null> {
  const { desk, call, client, language, house } = visit
  const { uid, address } = call
  const links = await waitingLink(visit)
  const verdict = await desk.send({ uid, email, clientName: client.name, language, address, links })
  if (verdict.isIssued) return null
  return Math.max(1, Math.ceil((verdict.nextAt - house.clock.now()) / MINUTE_MS))
}

async function takeCode(visit: Visit, pending: PendingCode, typed: string): Promise<Response> {
  const code = readCode(typed)
  if (code === undefined) return codePage(visit, pending, { kind: 'unreadable' })
  const redemption = await visit.desk.redeem(visit.call.uid, pending.email, code)
  switch (redemption.verdict) {
    case 'wrong':
      return codePage(visit, pending, { kind: 'wrong', attemptsLeft: redemption.attemptsLeft })
    case 'spent':
    case 'expired':
      return codePage(visit, pending, { kind: redemption.verdict })
    case 'right':
      return welcome(visit, redemption.email)
  }
}

function problemOf({ house }: Visit, pending: PendingCode): CodeProblem | undefined {
  if (pending.expiresAt <= house.clock.now()) return { kind: 'expired' }
  return pending.attemptsLeft === 0 ? { kind: 'spent' } : undefined
}

/** The address is proved. */
async function welcome(visit: Visit, email: string): Promise<Response> {
  const { house } = visit
  const at = house.clock.now()
  const newcomer = house.mayJoin ? newPerson(email, at) : null
  const person = await house.store.people.proved(email, newcomer, at)
  if (person === undefined) return signInPage(visit)
  if (person.disabledAt !== null) return disabledPage(visit, person)
  await linkWaiting(visit, person)
  return finish(visit, { login: { accountId: person.id, amr: ['otp'] } })
}

async function answerConsent(visit: Visit): Promise<Response> {
  const { call, interaction, provider, client, house } = visit
  const accountId = interaction.session?.accountId ?? ''
  const person = await house.store.people.find(accountId as PersonId)
  if (person === undefined) return failPage(house, visit.language, 'expired')
  const scopes = (interaction.params['scope'] ?? '').split(' ').filter((scope) => scope !== '')
  if (call.step !== 'consent' || call.body === null) {
    const form = formOf(visit, 'consent')
    return page(visit, {
      page: 'consent',
      clientName: client.name,
      email: person.email,
      scopes,
      form,
    })
  }
  if (readForm(call.request, call.body)?.get('decision') !== 'allow') {
    return finish(visit, { error: 'access_denied', error_description: 'the person said no' })
  }
  const { Grant } = provider
  const known =
    interaction.grantId === undefined ? undefined : await Grant.find(interaction.grantId)
  const grant = known ?? new Grant({ accountId, clientId: client.id })
  grant.addOIDCScope(scopes.join(' '))
  return finish(visit, { consent: { grantId: await grant.save() } })
}
