/** Where the store of several nodes is: hosts of which one is the primary, as PostgreSQL's own tools write it. */
import { basename, dirname } from 'node:path'

export interface Host {
  readonly hostname?: string
  readonly port?: number
  /** Of a Unix socket. */
  readonly path?: string
}

export interface Address {
  readonly hosts: readonly Host[]
  readonly username: string
  readonly password?: string
  readonly database: string
  /** Encrypted; with `verify`, only to a host that has a certificate for its name, of this authority or of those that the machine trusts. */
  readonly tls?: 'off' | 'encrypt' | { readonly verify: true; readonly ca: string | null }
  /** The file of that authority, which the caller of `readAddress` has to read. */
  readonly rootCertificate?: string | null
}

export const nameOf = ({ hostname = '', port, path }: Host): string =>
  path ?? `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`

/** For people, and to be read again: all of it without the password. */
export function renderAddress(address: Address): string {
  const { hosts, username, database, tls = 'off', rootCertificate } = address
  const socket = hosts[0]?.path
  const port = socket && basename(socket).slice(SOCKET.length)
  const places =
    socket === undefined ? hosts.map(nameOf).join(',') : port === `${USUAL_PORT}` ? '' : `:${port}`
  const mode = tls === 'off' ? 'disable' : tls === 'encrypt' ? USUAL_MODE : 'verify-full'
  const query = [
    ['host', socket && dirname(socket)],
    // A socket is never encrypted.
    ['sslmode', socket || mode === USUAL_MODE ? null : mode],
    ['sslrootcert', rootCertificate],
  ].flatMap(([name, value]) => (value ? [`${name}=${encodePath(value)}`] : []))
  const at = `${encodeURIComponent(username)}@${places}/${encodeURIComponent(database)}`
  return `postgres://${at}${query.length === 0 ? '' : '?'}${query.join('&')}`
}

const encodePath = (path: string): string => encodeURIComponent(path).replaceAll('%2F', '/')

const FORM =
  'postgres://user@host:5432,host:5432/database?sslmode=require, with sslmode disable, require or verify-full'

/** @throws Error that never repeats the text, which may hold a password */
export function readAddress(text: string): Address {
  const match =
    /^postgres(?:ql)?:\/\/(?:([^:@/?]+)(?::([^@/?]*))?@)?([^/?@]*)\/([^/?]+)(?:\?(.*))?$/.exec(
      text.trim(),
    )
  if (match === null) throw new Error(`must be ${FORM}`)
  const [, username = '', password, places = '', database = '', query] = match
  const { mode, rootCertificate, directory } = readQuery(new URLSearchParams(query))
  const hosts =
    directory === null ? places.split(',').map(readHost) : [readSocket(directory, places)]
  if (username === '') throw new Error(`names no user: ${FORM}`)
  return {
    hosts,
    username: decodeURIComponent(username),
    ...(password ? { password: decodeURIComponent(password) } : {}),
    database: decodeURIComponent(database),
    tls:
      directory !== null || mode === 'disable' ? 'off' : mode === 'require' ? 'encrypt' : VERIFIED,
    rootCertificate,
  }
}

const VERIFIED = { verify: true, ca: null } as const
const MODES = ['disable', 'require', 'verify-full'] as const
const USUAL_MODE = 'require'
const PARAMETERS = ['sslmode', 'sslrootcert', 'host']

function readQuery(query: URLSearchParams): {
  readonly mode: (typeof MODES)[number]
  readonly rootCertificate: string | null
  /** Of a Unix socket, as `host=/run/postgresql` names it. */
  readonly directory: string | null
} {
  const unknown = [...query.keys()].find((name) => !PARAMETERS.includes(name))
  if (unknown !== undefined) throw new Error(`has an unknown parameter "${unknown}": ${FORM}`)
  const mode = MODES.find((one) => one === (query.get('sslmode') ?? USUAL_MODE))
  if (mode === undefined) throw new Error(`must be ${FORM}`)
  const rootCertificate = query.get('sslrootcert')
  if (rootCertificate !== null && mode !== 'verify-full') {
    throw new Error('has a sslrootcert, by which nothing is verified but with sslmode=verify-full')
  }
  return { mode, rootCertificate, directory: query.get('host') }
}

const USUAL_PORT = 5432
const SOCKET = '.s.PGSQL.'

function readHost(text: string): Host {
  const match = /^(\[[0-9a-f:.]+\]|[^:,\s]+)(?::(\d{1,5}))?$/i.exec(text)
  const port = Number(match?.[2] ?? USUAL_PORT)
  if (match === null || port === 0 || port > 65_535) {
    throw new Error(`names a host that cannot be: ${FORM}`)
  }
  return { hostname: (match[1] ?? '').replace(/^\[|\]$/g, ''), port }
}

/** The socket of a server in its directory; `@:5433/` states another port than the usual one. */
const readSocket = (directory: string, place: string): Host => {
  const { port } = readHost(/^(:|$)/.test(place) ? `socket${place}` : place)
  return { path: `${directory}/${SOCKET}${port}` }
}
