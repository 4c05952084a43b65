/** The part of an interaction that signs in through a third party (hardening §3.2). */
import { ONE_FACTOR } from './claims.ts'
import type { FederationProblem, ReturnResult } from './identities/federation.ts'
import { type InteractionContext, noteOutcome } from './interaction-context.ts'
import { disabledPage, endedPage, finish, page, seeOther } from './interaction-pages.ts'
import { type Outcome, outcomePath } from './outcome.ts'
import { interactionPath } from './provider.ts'
import { digestOf } from './register/digest.ts'
import { type ClaimedIdentity, vouchedEmail } from './register/identity.ts'
import type { Person } from './register/person.ts'
import { requestArtifacts } from './request-artifacts.ts'

/**
 * Handles the button. The redirect goes through a page of our own, because the CSP forbids forms that end at third parties.
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
    : refusal(context, sending, name)
}

/** Handles the authorization response of the third party. */
export async function receiveFromThirdParty(
  context: InteractionContext,
  name: string,
): Promise<Response> {
  const { call, identities } = context
  const { searchParams } = new URL(call.request.url)
  // Opened without an authorization response, by hand or by a reload.
  if (!searchParams.has('state')) return seeOther(interactionPath(call.uid))
  const returned = await identities.receive(name, call.uid, searchParams)
  return returned.kind === 'identified'
    ? completeSignIn(context, returned)
    : refusal(context, returned, name)
}

function refusal(context: InteractionContext, problem: FederationProblem, name: string): Response {
  if (problem.kind !== 'gone') noteOutcome(context, `identity_${problem.kind}`, { method: name })
  return seeOther(outcomePath(context.call.uid, outcomeOf(problem, name)))
}

const outcomeOf = ({ kind }: FederationProblem, provider: string): Outcome => ({
  after: 'identity',
  problem: `identity-${kind}`,
  provider,
})

async function completeSignIn(
  context: InteractionContext,
  { provider, claims }: Extract<ReturnResult, { kind: 'identified' }>,
): Promise<Response> {
  const { deps, call } = context
  const { identities, detours, mailCodes } = deps.store
  const identity = toIdentity(provider.issuer, claims.subject, claims.name)
  const vouched = vouchedEmail(provider, claims.email)
  const begunAt = await requestArtifacts().revocationsBefore()
  const person = await identities.recognise(identity, vouched, deps.clock.now(), begunAt)
  if (person === 'revoked') return endedPage(context, { method: provider.name })
  if (person !== undefined) {
    await detours.drop(digestOf(call.uid))
    if (person.disabledAt !== null) return disabledPage(context, person)
    return finish(context, {
      login: { accountId: person.id, acr: ONE_FACTOR, amr: ['fed'], by: provider.name },
    })
  }
  const isKept = await detours.keepIdentity(digestOf(call.uid), {
    provider: provider.name,
    subject: claims.subject,
    claimedName: claims.name,
    claimedEmail: claims.email?.email ?? null,
  })
  if (!isKept) return seeOther(outcomePath(call.uid, outcomeOf({ kind: 'gone' }, provider.name)))
  // The mail of an earlier code did not mention that it would also link this identity.
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

/** Links the pending identity, if there is one, to the person who has verified their address. */
export async function linkPendingIdentity(
  context: InteractionContext,
  person: Person,
): Promise<void> {
  const { deps, call } = context
  const { detours, identities, identityProviders } = deps.store
  const interaction = digestOf(call.uid)
  const at = deps.clock.now()
  const waiting = await detours.pendingIdentity(interaction, at)
  if (waiting === undefined) return
  const provider = await identityProviders.find(waiting.provider)
  if (provider !== undefined) {
    const identity = toIdentity(provider.issuer, waiting.subject, waiting.claimedName)
    const begunAt = await requestArtifacts().revocationsBefore()
    const isLinked = await identities.link(identity, person.id, at, begunAt)
    const method = provider.name
    if (isLinked) noteOutcome(context, 'identity_linked', { personId: person.id, method })
  }
  await detours.drop(interaction)
}

/**
 * The label of the identity provider that the code will link, for the mail. It is the operator's label, because names from a
 * third party are untrusted text, and the mail may go to anybody.
 */
export async function pendingIdentityLabel({
  deps,
  call,
}: InteractionContext): Promise<string | null> {
  const waiting = await deps.store.detours.pendingIdentity(digestOf(call.uid), deps.clock.now())
  const provider = waiting && (await deps.store.identityProviders.find(waiting.provider))
  return provider?.label ?? null
}
