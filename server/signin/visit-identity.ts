/** The part of a visit that leads to a third party and back, and what becomes of whoever returns (hardening §3.2). */
import type { Return, Trouble } from './identities/desk.ts'
import type { SignInProblem } from './pages/view.ts'
import { interactionPath } from './provider.ts'
import { digestOf } from './register/digest.ts'
import { type ToldIdentity, vouchedEmail } from './register/identity.ts'
import type { Person } from './register/person.ts'
import type { Visit } from './visit.ts'
import { disabledPage, finish, page, seeOther, signInPage } from './visit-pages.ts'

/**
 * A button was pressed. The browser leaves by a page of its own, because no form of ours may end at a stranger's.
 * @throws TooManyVisits
 */
export async function sendToThirdParty(visit: Visit, name: string): Promise<Response> {
  visit.detours.begin(visit.call.address)
  const { prompt, max_age: age } = visit.interaction.params
  const isFresh = age !== undefined || (prompt ?? '').split(' ').includes('login')
  const sending = await visit.identities.send(name, visit.call.uid, isFresh)
  return sending.kind === 'sent'
    ? page(visit, { page: 'onward', to: sending.address })
    : signInPage(visit, problemOf(sending))
}

/** The browser is back, with its interaction's cookie and the third party's answer. */
export async function receiveFromThirdParty(visit: Visit, name: string): Promise<Response> {
  const { call, identities } = visit
  const { searchParams } = new URL(call.request.url)
  // Somebody came by hand, or looks at it again without what it ended with.
  if (!searchParams.has('state')) return seeOther(interactionPath(call.uid))
  const returned = await identities.receive(name, call.uid, searchParams)
  return returned.kind === 'told'
    ? welcome(visit, returned)
    : signInPage(visit, problemOf(returned))
}

const problemOf = (trouble: Trouble): SignInProblem => {
  switch (trouble.kind) {
    case 'gone':
      return { kind: 'identity-gone' }
    case 'refused':
      return { kind: 'identity-refused', name: trouble.provider.label }
    case 'failed':
      return { kind: 'identity-failed', name: trouble.provider.label }
  }
}

async function welcome(
  visit: Visit,
  { provider, told }: Extract<Return, { kind: 'told' }>,
): Promise<Response> {
  const { house, call } = visit
  const { identities, detours, mailCodes } = house.store
  const identity = toIdentity(provider.issuer, told.subject, told.name)
  const vouched = vouchedEmail(provider, told.email)
  const person = await identities.arrive(identity, vouched, house.clock.now())
  if (person !== undefined) {
    await detours.drop(digestOf(call.uid))
    if (person.disabledAt !== null) return disabledPage(visit, person)
    return finish(visit, { login: { accountId: person.id } })
  }
  const isKept = await detours.keep(digestOf(call.uid), {
    provider: provider.name,
    subject: told.subject,
    toldName: told.name,
    toldEmail: told.email?.email ?? null,
  })
  if (!isKept) return signInPage(visit, { kind: 'identity-gone' })
  // A code that was sent before said nothing of what it would open now.
  await mailCodes.drop(digestOf(call.uid))
  return seeOther(interactionPath(call.uid))
}

const toIdentity = (issuer: string, subject: string, toldName: string | null): ToldIdentity => ({
  issuer,
  subject,
  toldName,
})

/** Whoever has just proved their address by a code is from now on whom the third party knows, if they came from one. */
export async function linkWaiting({ house, call }: Visit, person: Person): Promise<void> {
  const { detours, identities, identityProviders } = house.store
  const interaction = digestOf(call.uid)
  const at = house.clock.now()
  const waiting = await detours.waiting(interaction, at)
  if (waiting === undefined) return
  const provider = await identityProviders.find(waiting.provider)
  if (provider !== undefined) {
    const identity = toIdentity(provider.issuer, waiting.subject, waiting.toldName)
    await identities.link(identity, person.id, at)
  }
  await detours.drop(interaction)
}

/**
 * By what else whoever proves this interaction's address will sign in: told in the mail with the code, by the operator's
 * own word for it. What the third party calls its person is a stranger's text, and the mail may go to anybody.
 */
export async function waitingLink({ house, call }: Visit): Promise<string | null> {
  const waiting = await house.store.detours.waiting(digestOf(call.uid), house.clock.now())
  const provider = waiting && (await house.store.identityProviders.find(waiting.provider))
  return provider?.label ?? null
}
