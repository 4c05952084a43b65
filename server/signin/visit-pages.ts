/** The pages of a visit, drawn of what the visit knows; and the ways out of it. */
import type { Payload } from 'oidc-provider/lib/provider.js'
import { CODE_MINUTES } from './mail-code.ts'
import { formTarget } from './pages/form-target.ts'
import type { Language } from './pages/language.ts'
import { pageResponse } from './pages/respond.ts'
import type {
  CodeProblem,
  ErrorKind,
  IdentityChoice,
  PageView,
  SignInProblem,
} from './pages/view.ts'
import { interactionPath } from './provider.ts'
import { digestOf } from './register/digest.ts'
import type { PendingCode } from './register/mail-code.ts'
import type { Person } from './register/person.ts'
import type { SideHouse } from './side-house.ts'
import type { Step, Visit } from './visit.ts'

/** Back to the protocol, which leads on to the client. */
export async function finish({ provider, passage }: Visit, result: Payload): Promise<Response> {
  const { req, res, answer } = passage
  const mergeWithLastSubmission = 'consent' in result
  await provider.interactionFinished(req, res, result, { mergeWithLastSubmission })
  const response = await answer
  response.headers.set('Cache-Control', 'no-store')
  return response
}

/** Without a problem, it says who has come back from a third party and waits for a code to prove their address. */
export async function signInPage(
  visit: Visit,
  problem?: SignInProblem,
  typed?: string,
): Promise<Response> {
  const { interaction, client, house, call } = visit
  const form = house.post.kind === 'none' ? undefined : formOf(visit, 'email')
  const waiting = await house.store.detours.waiting(digestOf(call.uid), house.clock.now())
  const told = problem ?? (await noticeOf(visit, waiting?.provider))
  const email = typed ?? waiting?.toldEmail ?? interaction.params['login_hint']?.slice(0, 254)
  const status = problem === undefined ? 200 : problem.kind === 'too-many-codes' ? 429 : 400
  const identities = await choicesOf(visit)
  return page(
    visit,
    { page: 'sign-in', clientName: client.name, form, email, problem: told, identities },
    status,
  )
}

async function noticeOf(
  { house }: Visit,
  name: string | undefined,
): Promise<SignInProblem | undefined> {
  const provider = name === undefined ? undefined : await house.store.identityProviders.find(name)
  if (provider === undefined) return undefined
  const kind = house.post.kind === 'none' ? 'identity-unknown' : 'identity-unproved'
  return { kind, name: provider.label }
}

async function choicesOf({ house, call }: Visit): Promise<readonly IdentityChoice[]> {
  return (await house.store.identityProviders.list()).map(({ name, label }) => ({
    name: label,
    form: { action: identityPath(call.uid, name), hidden: {} },
  }))
}

/** Where a button posts, and where the way back from a third party ends. */
export const identityPath = (uid: string, name: string): string =>
  `${interactionPath(uid)}/identity/${name}`

export function codePage(
  visit: Visit,
  { email }: PendingCode,
  problem?: CodeProblem,
  sentAgain?: boolean,
): Promise<Response> {
  const isTold = visit.call.step !== null && problem !== undefined
  const status = !isTold ? 200 : problem.kind === 'too-many-codes' ? 429 : 400
  return page(
    visit,
    {
      page: 'code',
      clientName: visit.client.name,
      email,
      form: formOf(visit, 'code'),
      resend: formOf(visit, 'resend'),
      restart: formOf(visit, 'restart'),
      minutes: CODE_MINUTES,
      sentTo: visit.house.post.kind === 'log' ? 'log' : 'mail',
      sentAgain,
      problem,
    },
    status,
  )
}

/** For somebody whom the operator lets in no more, once they have proved who they are. */
export const disabledPage = (visit: Visit, { email }: Person): Promise<Response> =>
  page(visit, { page: 'disabled', email, restart: formOf(visit, 'restart') })

/** What a form carries unseen is its interaction's cookie, which is bound to the path. */
export const formOf = ({ call }: Visit, step: Step) => ({
  action: `${interactionPath(call.uid)}/${step}`,
  hidden: {},
})

export function page(visit: Visit, view: PageView, status?: number): Promise<Response> {
  const target = formTarget(visit.interaction.params['redirect_uri'] ?? '')
  return pageResponse(view, {
    language: visit.language,
    issuer: visit.house.issuer,
    formTargets: target === undefined ? [] : [target],
    status,
  })
}

/** A page for whatever ends a visit. */
export const failPage = (
  { issuer }: Pick<SideHouse, 'issuer'>,
  language: Language,
  kind: ErrorKind,
  errorId?: string,
): Promise<Response> => pageResponse({ page: 'error', kind, errorId }, { language, issuer })

export const seeOther = (location: string): Response =>
  new Response(null, { status: 303, headers: { Location: location, 'Cache-Control': 'no-store' } })
