/** Codes by e-mail: creating, sending and verifying them (hardening §3.1). */
import { createHmac, randomInt } from 'node:crypto'
import { type Instant, instant, later, MINUTE_MS, renderInstant } from '#domain/clock.ts'
import { codeMail, notKnownMail } from './code-mail.ts'
import type { SigninDeps } from './deps.ts'
import type { Language } from './pages/language.ts'
import type { CodeMail } from './register/code-mail.ts'
import { digestOf } from './register/digest.ts'
import { emailKey } from './register/email.ts'
import type { IssueVerdict, MailCodeBounds, Redemption } from './register/mail-code.ts'

export const CODE_MINUTES = 10

/** At most 25 guesses at 10^8 codes per address in 15 minutes. */
const BOUNDS: MailCodeBounds = {
  perEmail: { most: 5, withinMs: 15 * MINUTE_MS },
  perPeer: { most: 20, withinMs: 60 * MINUTE_MS },
}

/** This many codes within an hour are logged, once an hour. They are still sent: otherwise an attacker could lock everybody out. */
const ALARM_COUNT = 100

/** The longest window of these limits. */
export const LOOKBACK_MS = 60 * MINUTE_MS

const DIGITS = 8

/** Eight uniformly random digits. */
const randomCode = (): string => String(randomInt(10 ** DIGITS)).padStart(DIGITS, '0')

/** The typed code without white space and hyphens; undefined if it is not a code. */
export function readCode(text: string): string | undefined {
  const code = text.replace(/[\s\p{Pd}]/gu, '')
  return /^[0-9]{8}$/.test(code) ? code : undefined
}

export interface CodeRequest {
  /** The interaction's id. */
  readonly uid: string
  readonly email: string
  readonly clientName: string
  readonly language: Language
  readonly address: string
  /** The identity provider that the code will also link; null if none. */
  readonly links: string | null
}

export interface MailCodeFlow {
  /** Sends a mail to unknown addresses too: only that mail says that the address is unknown. */
  send(asker: CodeRequest): Promise<IssueVerdict>
  redeem(uid: string, email: string, code: string): Promise<Redemption>
}

/** `pepper` is a secret of the keyring. */
export function openMailCodeFlow(deps: SigninDeps, pepper: string): MailCodeFlow {
  const { store, clock, codeDelivery } = deps
  const hash = (uid: string, email: string, code: string): string =>
    createHmac('sha256', pepper)
      .update(`${uid}\n${emailKey(email)}\n${code}`)
      .digest('hex')

  const write = (asker: CodeRequest, code: string, at: Instant, isKnown: boolean): CodeMail => {
    const { email, clientName, language, address, links } = asker
    const about = { clientName, address, at: renderInstant(at), minutes: CODE_MINUTES, links }
    const letter = isKnown ? codeMail(language, code, about) : notKnownMail(language, about)
    return { to: email, ...letter }
  }

  let quietUntil = instant(0)

  return {
    async send(asker) {
      const at = clock.now()
      const code = randomCode()
      const isKnown =
        deps.allowsSignup || (await store.people.findByEmail(asker.email)) !== undefined
      const verdict = await store.mailCodes.issue(
        {
          interaction: digestOf(asker.uid),
          email: asker.email,
          digest: hash(asker.uid, asker.email, code),
          peer: networkOf(asker.address),
          issuedAt: at,
          expiresAt: later(at, CODE_MINUTES * MINUTE_MS),
        },
        BOUNDS,
        codeDelivery.kind === 'mail' ? write(asker, code, at, isKnown) : null,
      )
      if (!verdict.isIssued) return verdict
      // A pause longer than the longest was begun before the clock was set back.
      const isQuiet = at < quietUntil && quietUntil <= later(at, LOOKBACK_MS)
      if (verdict.lately >= ALARM_COUNT && !isQuiet) {
        quietUntil = later(at, LOOKBACK_MS)
        deps.logFault(new Error(`${verdict.lately} sign-in codes were asked for within an hour`))
      }
      if (codeDelivery.kind === 'mail') codeDelivery.wake()
      if (codeDelivery.kind === 'log' && isKnown) codeDelivery.log(asker.email, code)
      return verdict
    },
    redeem: (uid, email, code) =>
      store.mailCodes.redeem(digestOf(uid), hash(uid, email, code), clock.now()),
  }
}

/** The network of an address: an IPv4 address, or the /64 of an IPv6 one, as a client usually has a whole /64. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail = ''] = address.split('::')
  const [left, right] = [head, tail].map((part) => (part === '' ? [] : part.split(':')))
  const groups = [
    ...(left ?? []),
    ...(address.includes('::')
      ? Array<string>(8 - (left ?? []).length - (right ?? []).length).fill('0')
      : []),
    ...(right ?? []),
  ]
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, '').toLowerCase())
    .join(':')}::/64`
}
