/**
 * What a form has led to, in the query of the interaction's page: every form is answered by a redirect to it, so that neither
 * Back nor a reload submits a form again. Only words and numbers; an address would end in the logs of proxies.
 */
import { type Clock, type Instant, instant, MINUTE_MS } from '#domain/clock.ts'
import type { CodeProblem, PasskeyProblem, SignInProblem } from './pages/view.ts'
import { interactionPath } from './provider.ts'
import { MAX_ATTEMPTS } from './register/mail-code.ts'
import type { Step } from './routes.ts'

export interface Outcome {
  /** What was submitted: a form, or a login at a third party. */
  readonly after: Step | 'identity'
  /** None: another code was sent. */
  readonly problem?: (SignInProblem | CodeProblem)['kind']
  /** After a wrong code: the attempts that are left. */
  readonly left?: number
  /** With `too-many-codes`: when another may be sent. */
  readonly until?: Instant
  /** The name of an identity provider. */
  readonly provider?: string
}

/** The address of the page that shows it. */
export function outcomePath(uid: string, { until, ...words }: Outcome): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(words)) query.set(name, String(value))
  if (until !== undefined) query.set('until', String(Math.floor(until / 1000)))
  return `${interactionPath(uid)}?${query}`
}

/** Reads a query, which its browser may have changed: `after` and `problem` are any words. */
export function readOutcome(address: string) {
  const { searchParams: query } = new URL(address)
  return {
    after: query.get('after'),
    problem: query.get('problem'),
    left: Number(query.get('left')),
    until: instant(Number(query.get('until')) * 1000),
    provider: query.get('provider') ?? '',
  }
}

export type ReadOutcome = ReturnType<typeof readOutcome>

/** What the page for the code shows. */
export function codeProblem(
  { after, problem, left, until }: ReadOutcome,
  clock: Clock,
): CodeProblem | undefined {
  switch (after === 'code' || after === 'resend' ? problem : null) {
    case 'wrong':
      if (!Number.isInteger(left) || left < 1 || left >= MAX_ATTEMPTS) return undefined
      return { kind: 'wrong', attemptsLeft: left }
    case 'unreadable':
      return { kind: 'unreadable' }
    case 'expired':
      return { kind: 'expired' }
    case 'spent':
      return { kind: 'spent' }
    case 'too-many-codes':
      return tooMany(until, clock)
    default:
      return undefined
  }
}

/** What a page that asks for a passkey shows. */
export function passkeyProblem({ after, problem }: ReadOutcome): PasskeyProblem | undefined {
  switch (after === 'passkey' || after === 'new-passkey' ? problem : null) {
    case 'passkey-gone':
      return { kind: 'passkey-gone' }
    case 'passkey-refused':
      return { kind: 'passkey-refused' }
    case 'passkey-known':
      return { kind: 'passkey-known' }
    case 'passkey-too-many':
      return { kind: 'passkey-too-many' }
    default:
      return undefined
  }
}

/** What the sign-in page shows. `label` is that of the identity provider, if it still exists. */
export function signInProblem(
  outcome: ReadOutcome,
  label: string | undefined,
  clock: Clock,
): SignInProblem | undefined {
  const { after, problem, until } = outcome
  if (after === 'passkey') return passkeyProblem(outcome)
  switch (after === 'email' || after === 'identity' ? problem : null) {
    case 'unreadable':
      return { kind: 'unreadable' }
    case 'too-many-codes':
      return tooMany(until, clock)
    case 'identity-gone':
      return { kind: 'identity-gone' }
    case 'identity-refused':
      return label === undefined ? undefined : { kind: 'identity-refused', name: label }
    case 'identity-failed':
      return label === undefined ? undefined : { kind: 'identity-failed', name: label }
    default:
      return undefined
  }
}

/** Nothing once the time has come. */
function tooMany(until: Instant, clock: Clock) {
  const minutes = Math.ceil((until - clock.now()) / MINUTE_MS)
  return minutes > 0 ? ({ kind: 'too-many-codes', minutes } as const) : undefined
}
