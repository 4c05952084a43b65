/** The compiled program with a mail server on loopback, a registered client, and simulated browsers. */
import {
  type Appliance,
  furnishCli,
  type StartOptions,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { type MailServer, openMailServer } from '#test/support/mail-server.ts'
import { freePort, openTlsFront } from '#test/support/tls-front.ts'
import { type Ask, type Browser, openBrowser, type Page } from './browser.ts'

export interface RegisteredClient {
  readonly client_id: string
  readonly client_secret: string
}

export interface SigninGateway {
  readonly cli: CliHarness
  readonly mail: MailServer
  readonly authUrl: string
  readonly appliance: Appliance
  readonly client: RegisteredClient
  /** With TLS, the file of the certificate to trust. */
  readonly caFile: string | null
  /** `fetch`, trusting that certificate. */
  readonly ask: Ask
  register(name: string, ...flags: readonly string[]): RegisteredClient
  /** Kills the program by SIGKILL, and restarts it on the same addresses. */
  killAndRestart(): Promise<void>
  /** The same once it has ended by itself. */
  restart(): Promise<void>
  browser(headers?: Readonly<Record<string, string>>): Browser
  /** The last code that was mailed to this address; waits until there are `count` mails to it. */
  codeFor(email: string, count?: number): Promise<string>
  /** From a sign-in page, by e-mail, to the page or address that follows. */
  signIn(browser: Browser, page: Page, email: string): Promise<Page>
  close(): Promise<void>
}

export const REDIRECT = 'https://app.example.org/callback'

export async function openSigninGateway(
  env: Readonly<Record<string, string>> = {},
  {
    isBehindTls = false,
    host = '127.0.0.1',
    cli = openCli(),
    isNamed = false,
    ...more
  }: Pick<StartOptions, 'nodes'> & {
    readonly isBehindTls?: boolean
    readonly host?: string
    readonly cli?: CliHarness
    readonly isNamed?: boolean
  } = {},
): Promise<SigninGateway> {
  furnishCli(cli)
  const mail = await openMailServer()
  const port = isBehindTls || isNamed ? await freePort() : 0
  const front = isBehindTls ? await openTlsFront(port) : null
  // Browsers have passkeys only at a host name.
  const named = isNamed ? `http://localhost:${port}` : (front?.url ?? null)
  const flags = named === null ? [] : ['--auth-url', named]
  const ask: Ask = (address, init) =>
    fetch(address, { ...init, ...(front && { tls: { ca: front.ca } }) })
  const start = (listen: string): Promise<Appliance> =>
    startAppliance(cli, {
      ...more,
      flags: ['--auth-listen', listen, ...flags],
      env: {
        GATEWAY_SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
        GATEWAY_SMTP_FROM: 'Gateway <gateway@example.org>',
        ...env,
      },
    })
  let appliance = await start(`${host}:${port}`)
  const authUrl =
    /"auth_url":"(https?:\/\/(?:localhost|[\d.])+(?::\d+)?)/.exec(appliance.said())?.[1] ?? ''
  const register = (name: string, ...flags: readonly string[]): RegisteredClient => {
    const redirect = flags.includes('--redirect-uri') ? [] : ['--redirect-uri', REDIRECT]
    return cli.json<RegisteredClient>(['clients', 'create', name, ...redirect, ...flags])
  }
  const client = register('Wiki <b>')

  const codeFor = async (email: string, count = 1): Promise<string> => {
    const mails = () => mail.taken.filter(({ to }) => to.includes(email))
    await until(() => mails().length >= count, `a code reached ${email}`)
    const digits = /^(\d{4}) (\d{4})\r?$/m.exec(textOf(mails().at(-1)?.source ?? ''))
    if (digits === null) throw new Error(`there is no code in the last mail to ${email}`)
    return `${digits[1]}${digits[2]}`
  }

  const restart = async (): Promise<void> => {
    appliance = await start(port === 0 ? new URL(authUrl).host : `127.0.0.1:${port}`)
  }
  return {
    cli,
    mail,
    authUrl,
    client,
    caFile: front?.caFile ?? null,
    ask,
    register,
    get appliance() {
      return appliance
    },
    async killAndRestart() {
      await appliance.kill()
      await restart()
    },
    restart,
    browser: (headers) => openBrowser(authUrl, headers, ask),
    codeFor,
    async signIn(browser, page, email) {
      const sent = mail.taken.filter(({ to }) => to.includes(email)).length
      const asked = await browser.submit(page, '/email', { email })
      return browser.submit(asked, '/code', { code: await codeFor(email, sent + 1) })
    },
    async close() {
      await appliance.stop()
      front?.close()
      await mail.close()
      cli.close()
    },
  }
}

/** The decoded plain-text part of a mail. */
export function textOf(source: string): string {
  const [, head = '', text = ''] =
    /^(content-type: text\/plain.*?)\r\n\r\n(.*?)\r\n--/ims.exec(source) ?? []
  if (/base64/i.test(head)) return Buffer.from(text, 'base64').toString()
  return /quoted-printable/i.test(head) ? unquote(text) : text
}

const unquote = (text: string): string =>
  Buffer.from(
    text
      .replaceAll('=\r\n', '')
      .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString()

/** An authorization request as in the specification, without a library. */
export function authorizeUrl(
  authUrl: string,
  clientId: string,
  more: Readonly<Record<string, string | null>> = {},
): string {
  const fields: Record<string, string | null> = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT,
    scope: 'openid email profile',
    state: 'state-of-the-session',
    code_challenge: challengeOf(VERIFIER),
    code_challenge_method: 'S256',
    ...more,
  }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== null) query.set(name, value)
  return `${authUrl}/oauth/authorize?${query}`
}

const VERIFIER = 'a-verifier-that-is-long-enough-to-be-one-0123456789'

const challengeOf = (verifier: string): string =>
  new Bun.CryptoHasher('sha256').update(verifier).digest('base64url')

/** The token request as in the specification: no redirect_uri, the secret in the form. */
export const redeem = (
  authUrl: string,
  { client_id, client_secret }: RegisteredClient,
  code: string,
  more: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  fetch(`${authUrl}/oauth/token`, {
    method: 'POST',
    headers,
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      client_id,
      client_secret,
      code_verifier: VERIFIER,
      ...more,
    }),
  })

export const codeOf = (page: Page): string => new URL(page.url).searchParams.get('code') ?? ''
