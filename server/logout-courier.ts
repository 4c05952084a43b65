/** Tells applications of sessions that have ended (OpenID Connect Back-Channel Logout 1.0 §2.5); nobody who signs out waits for it. */
import { type Clock, HOUR_MS, later, MINUTE_MS } from '#domain/clock.ts'
import { postUntrusted } from '#notify/post-untrusted.ts'
import type { DestinationPolicy } from '#outbound/policy.ts'
import type { Signin } from '#signin/open.ts'
import type { Logouts, WaitingLogout } from '#signin/register/logout.ts'
import { type Outbox, runOutbox } from './outbox.ts'

/** For one request, from DNS to the answer. */
const TRY_MS = 5_000
const LEASE_MS = 15_000
const SECOND_MS = 1_000
/** The pause after the first failure, the second, and so on. */
const PAUSES_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
] as const
/** An application that was away for longer ends its own sessions by their age. */
const GIVE_UP_MS = HOUR_MS
/** New ones are looked for this often: they are added wherever sessions end. */
const POLL_MS = SECOND_MS

/** Attempts at one application at a time, of the outbox's eight: four that do not answer are needed to delay others. */
const MOST_OF_ONE = 2

export interface LogoutCourierDeps {
  readonly logouts: Logouts
  readonly clock: Clock
  /** As for webhooks. */
  readonly policy: DestinationPolicy
  readonly signin: Pick<Signin, 'signLogout'>
  logFault(cause: unknown): void
}

/** Runs until it is closed. */
export function startLogoutCourier(deps: LogoutCourierDeps): Outbox {
  const underWay: string[] = []
  return runOutbox<WaitingLogout>({
    clock: deps.clock,
    leaseMs: LEASE_MS,
    maxSleepMs: POLL_MS,
    claim: async (at, leaseUntil, most) => ({
      waiting: await deps.logouts.claim(at, leaseUntil, { most, mostOfOne: MOST_OF_ONE, underWay }),
      nextAt: null,
    }),
    async deliver(waiting, cut) {
      underWay.push(waiting.clientId)
      try {
        await deliver(deps, waiting, cut)
      } finally {
        underWay.splice(underWay.indexOf(waiting.clientId), 1)
      }
    },
    logFault: deps.logFault,
  })
}

/** Makes one attempt. @throws if it is given up, for the operator's log */
async function deliver(
  deps: LogoutCourierDeps,
  waiting: WaitingLogout,
  cut: AbortSignal,
): Promise<void> {
  const { logouts, clock } = deps
  const { id, clientId, tries, endedAt } = waiting
  const failure = await tell(deps, waiting, AbortSignal.any([cut, AbortSignal.timeout(TRY_MS)]))
  if (failure === null) return logouts.drop(id)
  const at = clock.now()
  if (cut.aborted) return logouts.reschedule(id, tries, at)
  const pauseMs = failure === FORBIDDEN ? undefined : PAUSES_MS[tries]
  if (pauseMs !== undefined && at < later(endedAt, GIVE_UP_MS)) {
    return logouts.reschedule(id, tries + 1, later(at, pauseMs))
  }
  await logouts.drop(id)
  throw new Error(`${clientId} could not be told of a sign-out: ${failure}`)
}

/** The operator's own choice, which no later attempt changes. */
const FORBIDDEN = 'forbidden_address'

/** The class of a failure; null if the application has accepted it, or is not to be told any more. */
async function tell(
  { signin, policy }: LogoutCourierDeps,
  waiting: WaitingLogout,
  signal: AbortSignal,
): Promise<string | null> {
  const signed = await signin.signLogout(waiting)
  if (signed === undefined) return null
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const body = new URLSearchParams({ logout_token: signed.token }).toString()
  const answer = await postUntrusted(signed.uri, { headers, body }, policy, signal)
  if (typeof answer === 'string') return answer
  return answer.ok ? null : `status ${answer.status}`
}
