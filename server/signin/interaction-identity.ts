/** The part of an interaction that leads to a third party and back, and what becomes of whoever returns (hardening §3.2). */
import type { FederationProblem, ReturnResult } from './identities/federation.ts'
import type { InteractionContext } from './interaction.ts'
import { disabledPage, finish, page, seeOther, signInPage } from './interaction-pages.ts'
import type { SignInProblem } from './pages/view.ts'
import { interactionPath } from './provider.ts'
import { digestOf } from './register/digest.ts'
import { type ClaimedIdentity, vouchedEmail } from './register/identity.ts'
import type { Person } from './register/person.ts'

/**
 * A button was pressed. The browser leaves by a page of its own, because no form of ours may end at a stranger's.
 * @throws TooManyVisits
 */
export async function sendToThirdParty(
  context: InteractionContext,
  name: string,
): Promise<Response> {
  context.detourLimit.begin(context.call.address)
  const { prompt, max_age: age } = context.interaction.params
  const isFresh = age !== undefined || (prompt ?? '').split(' ').includes('login')
  const sending = await context.identities.send(name, context.call.uid, isFresh)
  return sending.kind === 'sent'
    ? page(context, { page: 'onward', to: sending.address })
    : signInPage(context, problemOf(sending))
}

/** The browser is back, with its interaction's cookie and the third party's answer. */
export async function receiveFromThirdParty(
  context: InteractionContext,
  name: string,
): Promise<Response> {
  const { call, identities } = context
  const { searchParams } = new URL(call.request.url)
  // Somebody came by hand, or looks at it again without what it ended with.
  if (!searchParams.has('state')) return seeOther(interactionPath(call.uid))
  const returned = await identities.receive(name, call.uid, searchParams)
  return returned.kind === 'identified'
    ? completeSignIn(context, returned)
    : signInPage(context, problemOf(returned))
}

const problemOf = (trouble: FederationProblem): SignInProblem => {
  switch (trouble.kind) {
    case 'gone':
      return { kind: 'identity-gone' }
    case 'refused':
      return { kind: 'identity-refused', name: trouble.provider.label }
    case 'failed':
      return { kind: 'identity-failed', name: trouble.provider.label }
  }
}

async function completeSignIn(
  context: InteractionContext,
  { provider, claims }: Extract<ReturnResult, { kind: 'identified' }>,
): Promise<Response> {
  const { deps, call } = context
  const { identities, detours, mailCodes } = deps.store
  const identity = toIdentity(provider.issuer, claims.subject, claims.name)
  const vouched = vouchedEmail(provider, claims.email)
  const person = await identities.recognise(identity, vouched, deps.clock.now())
  if (person !== undefined) {
    await detours.drop(digestOf(call.uid))
    if (person.disabledAt !== null) return disabledPage(context, person)
    return finish(context, { login: { accountId: person.id } })
  }
  const isKept = await detours.keepIdentity(digestOf(call.uid), {
    provider: provider.name,
    subject: claims.subject,
    claimedName: claims.name,
    claimedEmail: claims.email?.email ?? null,
  })
  if (!isKept) return signInPage(context, { kind: 'identity-gone' })
  // A code that was sent before said nothing of what it would open now.
  await mailCodes.drop(digestOf(call.uid))
  return seeOther(interactionPath(call.uid))
}

const toIdentity = (
  issuer: string,
  subject: string,
  claimedName: string | null,
): ClaimedIdentity => ({
  issuer,
  subject,
  claimedName,
})

/** Whoever has just proved their address by a code is from now on whom the third party knows, if they came from one. */
export async function linkPendingIdentity(
  { deps, call }: InteractionContext,
  person: Person,
): Promise<void> {
  const { detours, identities, identityProviders } = deps.store
  const interaction = digestOf(call.uid)
  const at = deps.clock.now()
  const waiting = await detours.pendingIdentity(interaction, at)
  if (waiting === undefined) return
  const provider = await identityProviders.find(waiting.provider)
  if (provider !== undefined) {
    const identity = toIdentity(provider.issuer, waiting.subject, waiting.claimedName)
    await identities.link(identity, person.id, at)
  }
  await detours.drop(interaction)
}

/**
 * By what else whoever proves this interaction's address will sign in: told in the mail with the code, by the operator's
 * own word for it. What the third party calls its person is a stranger's text, and the mail may go to anybody.
 */
export async function pendingIdentityLabel({
  deps,
  call,
}: InteractionContext): Promise<string | null> {
  const waiting = await deps.store.detours.pendingIdentity(digestOf(call.uid), deps.clock.now())
  const provider = waiting && (await deps.store.identityProviders.find(waiting.provider))
  return provider?.label ?? null
}
