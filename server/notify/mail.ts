/** Sends one e-mail; the outcome has only the reply code of the mail server. */
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

/** `signal` aborts the attempt and closes the connection. */
export async function sendMail(
  server: SmtpServer,
  to: string,
  eventId: EventId,
  mail: Mail,
  signal: AbortSignal,
): Promise<Outcome> {
  const { from, brand = null } = server
  const sender = readSender(from) ?? from
  try {
    const { response } = await connect(server).sendMail({
      ...(brand === null ? mail : under(brand, mail)),
      // An address alone has no name.
      from: brand !== null && sender === from.trim() ? { name: brand, address: sender } : from,
      to: { name: '', address: to },
      // The same at every attempt, so that duplicates can be recognised.
      messageId: `<${eventId}@${sender.slice(sender.indexOf('@') + 1)}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
      signal: signal,
    })
    return { status: readCode(response), failure: null }
  } catch (thrown) {
    return signal.aborted ? unanswered('timeout') : toOutcome(thrown)
  }
}

const under = (brand: string, { subject, text, html }: Mail): Mail => ({
  subject,
  text: `${brand}\n\n${text}`,
  html: `<p><strong>${Bun.escapeHTML(brand)}</strong></p>\n${html}`,
})

const connect = ({ host, port, isSecure, login, ca }: SmtpServer) =>
  createTransport({
    host,
    port,
    secure: isSecure,
    // A password is sent without TLS only to loopback.
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

/** The server requires authentication; not a rejection of the mail. */
const AUTHENTICATION_REQUIRED = 530

/**
 * A permanent rejection (5xx) of sender, recipient or content ends the notice. A failed greeting or login is caused by the
 * operator's settings, which can be corrected, so it is retried.
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
