/** Sends one e-mail and tells what the mail server answered, by its code alone. */

import { createTransport } from 'nodemailer'
import type { EventId } from '#domain/id.ts'
import { isLoopbackHost } from '#domain/loopback.ts'
import { classOf, type Outcome, unanswered } from './outcome.ts'
import { readSender, type SmtpServer } from './smtp-server.ts'

export interface Mail {
  readonly subject: string
  readonly text: string
  readonly html: string
}

/** `signal` aborts a try that takes too long; the connection is then closed. */
export async function sendMail(
  server: SmtpServer,
  to: string,
  eventId: EventId,
  mail: Mail,
  signal: AbortSignal,
): Promise<Outcome> {
  const { from } = server
  const sender = readSender(from) ?? from
  try {
    const { response } = await connect(server).sendMail({
      ...mail,
      from,
      to: { name: '', address: to },
      // What arrives twice can be known by it.
      messageId: `<${eventId}@${sender.slice(sender.indexOf('@') + 1)}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
      signal: signal,
    })
    return { status: readCode(response), failure: null }
  } catch (thrown) {
    return signal.aborted ? unanswered('timeout') : toOutcome(thrown)
  }
}

const connect = ({ host, port, isSecure, login, ca }: SmtpServer) =>
  createTransport({
    host,
    port,
    secure: isSecure,
    // A password goes in clear to this very machine, and to no other.
    requireTLS: login !== null && !isLoopbackHost(host),
    ...(login && { auth: { user: login.user, pass: login.password } }),
    ...(ca !== undefined && { tls: { ca } }),
    disableFileAccess: true,
    disableUrlAccess: true,
  })

const readCode = (response: string): number | null => {
  const code = Number(response.slice(0, 3))
  return Number.isInteger(code) && code >= 200 ? code : null
}

/** Not a word against the mail: the server wants its user first. */
const AUTHENTICATION_REQUIRED = 530

/**
 * A refusal for good (5xx) of sender, recipient or text ends the notice. One of the greeting or the login is about the
 * operator's settings, which can be put right.
 */
function toOutcome(thrown: unknown): Outcome {
  const { code, responseCode } = thrown as {
    readonly code?: unknown
    readonly responseCode?: unknown
  }
  const status = typeof responseCode === 'number' ? responseCode : null
  if (code === 'EAUTH' || status === AUTHENTICATION_REQUIRED) return { status, failure: 'auth' }
  if (code === 'ETLS' || code === 'EREQUIRETLS') return { status, failure: 'tls' }
  if (status === null) return unanswered(classOf(thrown))
  const isOfMail = code === 'EENVELOPE' || code === 'EMESSAGE'
  return { status, failure: 'status', ...(isOfMail && status >= 500 && { isFinal: true }) }
}
