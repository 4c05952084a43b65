/** The part of an interaction that is about passkeys: to sign in by one, to show one after a code, to add the first. */
import { PASSKEY_SCRIPT } from '#pages/passkeys.ts'
import { amrOf, TWO_FACTORS } from './claims.ts'
import { declinePasskey } from './declined-passkey.ts'
import { readForm } from './form-body.ts'
import { type InteractionContext, noteOutcome } from './interaction-context.ts'
import { linkPendingIdentity } from './interaction-identity.ts'
import {
  disabledPage,
  endedPage,
  failPage,
  finish,
  formOf,
  page,
  restartAsOther,
  seeOther,
} from './interaction-pages.ts'
import { type Outcome, outcomePath, passkeyProblem, readOutcome } from './outcome.ts'
import type { PasskeyFlow, PasskeyUsed } from './passkeys.ts'
import { interactionPath } from './provider.ts'
import { digestOf } from './register/digest.ts'
import type { PasskeyRefusal } from './register/passkey.ts'
import type { Person, PersonId } from './register/person.ts'
import { requestArtifacts } from './request-artifacts.ts'

const METHOD = 'passkey'

const responseOf = ({ call: { request, body } }: InteractionContext): string =>
  (body === null ? undefined : readForm(request, body)?.get('response')) ?? ''

/** On the sign-in page: the passkey says who it is. */
export async function signInByPasskey(context: InteractionContext): Promise<Response> {
  const { call, passkeys } = context
  if (passkeys === null) return seeOther(interactionPath(call.uid))
  const begunAt = await requestArtifacts().revocationsBefore()
  const used = await passkeys.use(digestOf(call.uid), responseOf(context), null, begunAt)
  if (used.kind !== 'proved') return refusal(context, used)
  const { person, amr } = used
  if (person.disabledAt !== null) return disabledPage(context, person)
  await linkPendingIdentity(context, person)
  return finish(context, {
    login: { accountId: person.id, acr: TWO_FACTORS, amr, by: METHOD },
  })
}

/** Somebody has signed in, and is asked for a passkey, or offered the first. */
export async function answerPasskey(context: InteractionContext): Promise<Response> {
  const { call, deps, interaction, passkeys } = context
  const person = await deps.store.people.find((interaction.session?.accountId ?? '') as PersonId)
  if (person === undefined) return failPage(deps, context.language, 'expired')
  // The operator has turned them off since.
  if (passkeys === null) return finish(context, { passkey: {} })
  switch (call.step) {
    case 'passkey':
      return confirm(context, passkeys, person)
    case 'new-passkey':
      return add(context, passkeys, person)
    case 'skip-passkey':
      // Where one is required, the policy asks again.
      return skip(context)
    case 'restart':
      return restartAsOther(context)
    case null:
      return showState(context, passkeys, person)
    default:
      return seeOther(interactionPath(call.uid))
  }
}

async function showState(
  context: InteractionContext,
  passkeys: PasskeyFlow,
  person: Person,
): Promise<Response> {
  const { call, client, deps } = context
  const hasOne = (await deps.store.passkeys.ofPerson(person.id)).length > 0
  // Added elsewhere since it was offered.
  if (hasOne && !passkeys.isRequired) return finish(context, { passkey: {} })
  const problem = passkeyProblem(readOutcome(call.request.url))
  const holder = digestOf(call.uid)
  const restart = formOf(context, 'restart')
  const shared = { email: person.email, problem, script: PASSKEY_SCRIPT.path }
  const status = problem === undefined ? 200 : 400
  if (hasOne) {
    const options = await passkeys.ask(holder, person.id)
    const passkey = { form: formOf(context, 'passkey'), options }
    const { name: clientName } = client
    return page(context, { page: 'passkey', ...shared, clientName, passkey, restart }, status)
  }
  const options = await passkeys.offer(holder, person)
  const passkey = { form: formOf(context, 'new-passkey'), options }
  const way = passkeys.isRequired ? { restart } : { skip: formOf(context, 'skip-passkey') }
  return page(context, { page: 'new-passkey', ...shared, passkey, way }, status)
}

async function confirm(
  context: InteractionContext,
  passkeys: PasskeyFlow,
  { id }: Person,
): Promise<Response> {
  const begunAt = await requestArtifacts().revocationsBefore()
  const used = await passkeys.use(digestOf(context.call.uid), responseOf(context), id, begunAt)
  if (used.kind !== 'proved') return refusal(context, used)
  if (used.person.disabledAt !== null) return disabledPage(context, used.person)
  return raise(context, used.person, used.amr, METHOD)
}

async function add(
  context: InteractionContext,
  passkeys: PasskeyFlow,
  person: Person,
): Promise<Response> {
  const { call, client, deps, interaction } = context
  // Only the first: who has one shows it before they add another.
  const hasOne = (await deps.store.passkeys.ofPerson(person.id)).length > 0
  if (hasOne) return seeOther(interactionPath(call.uid))
  const added = await passkeys.add({
    holder: digestOf(call.uid),
    person,
    response: responseOf(context),
    agent: call.request.headers.get('user-agent'),
    clientId: client.id,
    address: call.address,
    revocations: await requestArtifacts().revocationsBefore(),
  })
  if (added === 'revoked') return endedPage(context, { personId: person.id, method: METHOD })
  if (added !== 'added') return refuse(context, 'new-passkey', PROBLEMS[added])
  const [passkey] = await deps.store.passkeys.ofPerson(person.id)
  const by = interaction.lastSubmission?.login?.by ?? 'session'
  return raise(context, person, amrOf(passkey?.isSynced === true), by)
}

const PROBLEMS = {
  gone: 'passkey-gone',
  refused: 'passkey-refused',
  known: 'passkey-known',
  too_many: 'passkey-too-many',
} as const satisfies Record<Exclude<PasskeyRefusal, 'revoked'>, Outcome['problem']>

/** Goes on with what was shown before and the passkey, which was made or used right now. */
function raise(
  context: InteractionContext,
  { id }: Person,
  amr: readonly string[],
  by: string,
): Promise<Response> {
  const before = context.interaction.session?.amr ?? []
  const login = { accountId: id, acr: TWO_FACTORS, amr: [...before, ...amr], by }
  return finish(context, { login, passkey: {} })
}

async function skip(context: InteractionContext): Promise<Response> {
  const answer = await finish(context, { passkey: {} })
  answer.headers.append('Set-Cookie', declinePasskey(context.deps.issuer))
  return answer
}

async function refusal(
  context: InteractionContext,
  used: Exclude<PasskeyUsed, { readonly kind: 'proved' }>,
): Promise<Response> {
  const { interaction } = context
  switch (used.kind) {
    case 'revoked':
      return endedPage(context, { method: METHOD })
    case 'gone':
      // Submitted twice, and the browser shows only the answer to the second.
      return interaction.result?.login === undefined
        ? refuse(context, 'passkey', 'passkey-gone')
        : seeOther(new URL(interaction.returnTo).pathname)
    default: {
      const { kind, detail, person: personId = null } = used
      noteOutcome(context, `passkey_${kind}`, { method: METHOD, detail, personId })
      return refuse(context, 'passkey', 'passkey-refused')
    }
  }
}

const refuse = (
  { call }: InteractionContext,
  after: 'passkey' | 'new-passkey',
  problem: NonNullable<Outcome['problem']>,
): Response => seeOther(outcomePath(call.uid, { after, problem }))
