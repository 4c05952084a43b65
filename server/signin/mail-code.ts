/** Codes by e-mail: creating, sending and verifying them (hardening §3.1). */
import { createHmac, randomInt } from 'node:crypto'
import { type Instant, instant, later, MINUTE_MS, renderInstant } from '#domain/clock.ts'
import { newEventId } from '#domain/id.ts'
import type { Language } from '#domain/language.ts'
import { codeMail, notKnownMail } from './code-mail.ts'
import type { SigninDeps } from './deps.ts'
import type { SigninLimits } from './limits.ts'
import { NETWORKS_OF_SITE, networkOf, siteOf } from './network.ts'
import { maySignUp } from './register/access.ts'
import type { Client } from './register/client.ts'
import { digestOf } from './register/digest.ts'
import { emailKey } from './register/email.ts'
import type {
  IssueVerdict,
  MailCodeBounds,
  NetworkBounds,
  NewMail,
  Redemption,
} from './register/mail-code.ts'
import type { Accepted, Refusal } from './register/signin-event.ts'
import { noteEvent } from './request-artifacts.ts'

export const CODE_MINUTES = 10

/** To one address within an hour. Beyond it every network keeps a reserve, so that nobody can keep a person out. */
const MAX_PER_EMAIL = 20
const RESERVE = 2

/** This many codes within an hour are logged, once an hour. They are still sent: otherwise an attacker could lock everybody out. */
const ALARM_COUNT = 100

/** The longest window of these limits. */
export const LOOKBACK_MS = 60 * MINUTE_MS

const DIGITS = 8
/** Digits of a code to an address that many codes were issued to, so that many networks together cannot guess one either. */
const MANY_DIGITS = 12
/** This many codes to one address within an hour are many: at most 500 guesses at 10^8 codes. */
const MANY_CODES = 100

/** Uniformly random digits. */
const randomCode = (digits: number): string => String(randomInt(10 ** digits)).padStart(digits, '0')

/** The typed code without white space and hyphens; undefined if it is not a code. */
export function readCode(text: string): string | undefined {
  const code = text.replace(/[\s\p{Pd}]/gu, '')
  return /^[0-9]+$/.test(code) && [DIGITS, MANY_DIGITS].includes(code.length) ? code : undefined
}

export interface CodeRequest {
  /** The interaction's id. */
  readonly uid: string
  readonly email: string
  readonly client: Pick<Client, 'id' | 'name'>
  readonly language: Language
  readonly address: string
  /** The name of the browser, if the address was verified in it before. */
  readonly knownBrowser: string | null
  /** The identity provider that the code will also link; null if none. */
  readonly links: string | null
}

export interface MailCodeFlow {
  /** Sends a mail to unknown addresses too: only that mail says that the address is unknown. */
  send(asker: CodeRequest): Promise<IssueVerdict>
  redeem(uid: string, email: string, code: string): Promise<Redemption>
}

/** `pepper` is a secret of the keyring. */
export function openMailCodeFlow(
  deps: SigninDeps,
  pepper: string,
  limits: SigninLimits,
): MailCodeFlow {
  const { store, clock, codeDelivery } = deps
  const hash = (uid: string, email: string, code: string): string =>
    createHmac('sha256', pepper)
      .update(`${uid}\n${emailKey(email)}\n${code}`)
      .digest('hex')

  const write = (asker: CodeRequest, code: string, at: Instant, isKnown: boolean): NewMail => {
    const { email, client, language, address, links } = asker
    const about = {
      clientName: client.name,
      address,
      at: renderInstant(at),
      minutes: CODE_MINUTES,
      links,
      contact: deps.contact,
    }
    const letter = isKnown ? codeMail(language, code, about) : notKnownMail(language, about)
    return { id: newEventId(at), mail: { to: email, ...letter } }
  }

  let quietUntil = instant(0)
  const alarm = (lately: number, at: Instant): void => {
    // A pause longer than the longest was begun before the clock was set back.
    if (at < quietUntil && quietUntil <= later(at, LOOKBACK_MS)) return
    quietUntil = later(at, LOOKBACK_MS)
    deps.logFault(new Error(`${lately} sign-in codes were asked for within an hour`))
  }

  return {
    async send(asker) {
      const at = clock.now()
      const { email } = asker
      const isMany = (await store.mailCodes.issuedTo(email, later(at, -LOOKBACK_MS))) >= MANY_CODES
      const code = randomCode(isMany ? MANY_DIGITS : DIGITS)
      const peer = asker.knownBrowser ?? networkOf(asker.address)
      const person = await store.people.findByEmail(email)
      const isKnown = person !== undefined || maySignUp(deps.signup, email)
      const verdict = await store.mailCodes.issue(
        {
          interaction: digestOf(asker.uid),
          email,
          digest: hash(asker.uid, email, code),
          peer,
          site: asker.knownBrowser === null ? siteOf(peer) : null,
          issuedAt: at,
          expiresAt: later(at, CODE_MINUTES * MINUTE_MS),
        },
        boundsOf(limits, asker.knownBrowser !== null),
        codeDelivery.kind === 'mail' ? write(asker, code, at, isKnown) : null,
      )
      noteEvent(clock, {
        outcome: outcomeOf(verdict, isKnown),
        address: asker.address,
        clientId: asker.client.id,
        ...(person === undefined ? { email } : { personId: person.id }),
      })
      if (!verdict.isIssued) return verdict
      if (verdict.lately >= ALARM_COUNT) alarm(verdict.lately, at)
      if (codeDelivery.kind === 'mail') codeDelivery.wake()
      if (codeDelivery.kind === 'log' && isKnown) codeDelivery.log(email, code)
      return verdict
    },
    redeem: (uid, email, code) =>
      store.mailCodes.redeem(digestOf(uid), hash(uid, email, code), clock.now()),
  }
}

function outcomeOf({ isIssued }: IssueVerdict, isKnown: boolean): Accepted | Refusal {
  if (!isIssued) return 'too_many_codes'
  return isKnown ? 'code_sent' : 'unknown_address'
}

function boundsOf(limits: SigninLimits, isKnown: boolean): MailCodeBounds {
  const { codesPerAddress, codesPerNetwork } = limits
  const withinQuarter = (most: number) => ({ most, withinMs: 15 * MINUTE_MS })
  const withinHour = (most: number) => ({ most, withinMs: LOOKBACK_MS })
  const network: NetworkBounds = {
    perEmail: withinHour(Math.max(MAX_PER_EMAIL, codesPerAddress)),
    reserve: withinQuarter(Math.min(RESERVE, codesPerAddress)),
    perPeer: withinHour(codesPerNetwork),
    perSite: withinHour(NETWORKS_OF_SITE * codesPerNetwork),
  }
  return {
    perPair: withinQuarter(codesPerAddress),
    network: isKnown ? null : network,
    lookbackMs: LOOKBACK_MS,
  }
}
