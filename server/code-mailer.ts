/** Sends sign-in codes from the store through the mail server, at once, and retries while the code is valid. */
import { type Clock, type Instant, later, MINUTE_MS } from '#domain/clock.ts'
import { sendMail } from '#notify/mail.ts'
import type { Outcome } from '#notify/outcome.ts'
import type { SmtpServer } from '#notify/smtp-server.ts'
import type { CodeMailFailure } from '#operator/deps.ts'
import type { CodeDelivery } from '#signin/deps.ts'
import type { CodeMails, WaitingMail } from '#signin/register/code-mail.ts'
import { runOutbox } from './outbox.ts'

export interface CodeMailer {
  readonly delivery: CodeDelivery
  /** Why the last attempt failed; null where it did not. */
  failure(): CodeMailFailure | null
  /** Waits briefly for mails being sent; the others are sent at the next start if their codes are still valid. */
  close(): Promise<void>
}

const TRY_MS = 15_000
/** Longer than an attempt; the mail of a process that was killed waits until then. */
const LEASE_MS = 20_000
/** The pause after the first failure, the second, and so on; people do not wait longer than this. */
const PAUSES_MS = [3_000, 15_000, MINUTE_MS, 2 * MINUTE_MS, 4 * MINUTE_MS]
/** The longest sleep; a new mail ends it. */
const MAX_SLEEP_MS = MINUTE_MS

export interface CodeMailerDeps {
  readonly mails: CodeMails
  readonly smtp: SmtpServer
  readonly clock: Clock
  logFault(cause: unknown): void
}

/** Runs until it is closed. */
export function startCodeMailer(deps: CodeMailerDeps): CodeMailer {
  const { mails, clock, logFault } = deps
  let failure: CodeMailFailure | null = null
  const { wake, close } = runOutbox<WaitingMail>({
    clock,
    leaseMs: LEASE_MS,
    maxSleepMs: MAX_SLEEP_MS,
    async claim(at, leaseUntil, limit) {
      const { mails: waiting, nextAt } = await mails.claim(at, leaseUntil, limit)
      return { waiting, nextAt }
    },
    deliver: (waiting, cut) =>
      deliver(deps, waiting, cut, (found) => {
        failure = found
      }),
    logFault,
  })
  return { delivery: { kind: 'mail', wake }, failure: () => failure, close }
}

/** Makes one attempt. @throws if the mail is given up, for the operator's log */
async function deliver(
  { mails, smtp, clock }: CodeMailerDeps,
  waiting: WaitingMail,
  cut: AbortSignal,
  report: (failure: CodeMailFailure | null) => void,
): Promise<void> {
  const { id, mail, tries, expiresAt } = waiting
  const { to, ...letter } = mail
  const signal = AbortSignal.any([cut, AbortSignal.timeout(TRY_MS)])
  const outcome = await sendMail(smtp, to, id, letter, signal)
  if (outcome.failure === null) {
    report(null)
    return mails.drop(waiting)
  }
  if (cut.aborted) return mails.reschedule(waiting, tries, clock.now())
  const reason = `${outcome.failure} ${outcome.status ?? ''}`.trim()
  report({ at: clock.now(), reason, isOfMail: outcome.isFinal === true })
  const nextAt = nextTry(outcome, tries, clock.now())
  if (nextAt !== null && nextAt < expiresAt) return mails.reschedule(waiting, tries + 1, nextAt)
  await mails.drop(waiting)
  throw new Error(`a sign-in code could not be sent: ${reason}`)
}

function nextTry({ isFinal }: Outcome, tries: number, at: Instant): Instant | null {
  const pauseMs = PAUSES_MS[tries]
  return isFinal === true || pauseMs === undefined ? null : later(at, pauseMs)
}
