/** The mail server, as configured in `smtp.url` and `smtp.from`. */

export interface SmtpServer {
  readonly host: string
  readonly port: number
  /** TLS from the first byte (`smtps:`); without it STARTTLS wherever it is offered. */
  readonly isSecure: boolean
  /** Sent only to the server. */
  readonly login: { readonly user: string; readonly password: string } | null
  /** The sender: `Gateway <gateway@example.org>`, or only the address. */
  readonly from: string
  /** The operator's name, over every mail; null or absent: none. */
  readonly brand?: string | null
  /** An additional trusted certificate, for tests. */
  readonly ca?: string
}

const PORT = 587
const SECURE_PORT = 465

/** Reads `smtp://user:password@host:port` or `smtps://…`; undefined for anything else. Escapes such as `%40` are undone. */
export function readSmtpUrl(text: string): Omit<SmtpServer, 'from'> | undefined {
  const url = URL.parse(text)
  if (url === null || !['smtp:', 'smtps:'].includes(url.protocol) || url.hostname === '') return
  if (!['', '/'].includes(url.pathname) || url.search !== '' || url.hash !== '') return
  const isSecure = url.protocol === 'smtps:'
  const [user, password] = [undoEscapes(url.username), undoEscapes(url.password)]
  if (user === undefined || password === undefined || (user === '') !== (password === '')) return
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (isSecure ? SECURE_PORT : PORT) : Number(url.port),
    isSecure,
    login: user === '' ? null : { user, password },
  }
}

function undoEscapes(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return
  }
}

const FROM = /^(?:[^<>@\r\n]*<([^<>@\s]+@[^<>@\s]+)>|([^<>@\s]+@[^<>@\s]+))$/

/** The address in `Gateway <gateway@example.org>`; undefined for what is no sender. */
export function readSender(from: string): string | undefined {
  const match = FROM.exec(from.trim())
  return match?.[1] ?? match?.[2]
}
