/** Sends one trial mail through the configured mail server, and reports its answer. */
import type { Clock } from '#domain/clock.ts'
import { newEventId } from '#domain/id.ts'
import type { SmtpServer } from '#notify/smtp-server.ts'
import type { MailTrial } from '#operator/deps.ts'

/** As long as a sign-in code is waited for. */
const TRY_MS = 15_000

const LETTER = {
  subject: 'Trial mail',
  text: 'An operator of the gateway sent this to try its mail server. Sign-in codes and notices come the same way.\n',
  html: '<p>An operator of the gateway sent this to try its mail server. Sign-in codes and notices come the same way.</p>',
}

/** The mail library is loaded on first use. */
export const mailTrial =
  (server: SmtpServer, clock: Clock): MailTrial =>
  async (to) => {
    const { sendMail } = await import('#notify/mail.ts')
    const signal = AbortSignal.timeout(TRY_MS)
    const outcome = await sendMail(server, to, newEventId(clock.now()), LETTER, signal)
    return { status: outcome.status, failure: outcome.failure }
  }
