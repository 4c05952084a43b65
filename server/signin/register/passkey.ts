/** Passkeys: keys that people's devices keep for them (WebAuthn), and sign in with instead of a code, or after one. */
import type { Act } from '#domain/act.ts'
import type { Instant } from '#domain/clock.ts'
import { isLoopbackHost } from '#domain/loopback.ts'
import { randomName } from './digest.ts'
import type { Person, PersonId } from './person.ts'
import type { SigninEvent } from './signin-event.ts'

/** `required`: nobody enters an application without one, whatever they showed before. */
export const PASSKEY_POLICIES = ['off', 'optional', 'required'] as const

export type PasskeyPolicy = (typeof PASSKEY_POLICIES)[number]

/** Where passkeys are of: browsers bind them to a host name (`id`), and say in each answer which page asked (`origin`). */
export interface RelyingParty {
  readonly id: string
  readonly origin: string
}

/** Null where browsers have no passkeys: without TLS, except on this machine, and at an address that is no name. */
export function relyingPartyOf(issuer: string): RelyingParty | null {
  const { protocol, hostname, origin } = new URL(issuer)
  const isName = !hostname.startsWith('[') && !/^[\d.]+$/.test(hostname)
  const isSecure = protocol === 'https:' || isLoopbackHost(hostname)
  return isName && isSecure ? { id: hostname, origin } : null
}

/** What holds at an address. */
export const policyAt = (issuer: string, policy: PasskeyPolicy = 'optional'): PasskeyPolicy =>
  relyingPartyOf(issuer) === null ? 'off' : policy

export type PasskeyId = `psk_${string}`

export interface Passkey {
  /** Ours, for lists and commands; that of the device may be a kilobyte long. */
  readonly id: PasskeyId
  readonly personId: PersonId
  /** The device's, in base64url. */
  readonly credentialId: string
  /** Of what keeps it: `iCloud Keychain`, `Chrome, Linux`. */
  readonly name: string
  /** COSE, in base64url. */
  readonly publicKey: string
  /** How often it was used, as the device counts; 0 from a device that does not. */
  readonly counter: number
  /** How the device is reached, as the browser says: `internal`, `usb`, `hybrid`. */
  readonly transports: readonly string[]
  /** Whether it is copied between a person's devices, and so is not bound to one. */
  readonly isSynced: boolean
  readonly createdAt: Instant
  readonly lastUsedAt: Instant | null
}

const ID_CHARS = 12

export const newPasskeyId = (): PasskeyId => `psk_${randomName(ID_CHARS)}`

/** Of one person. */
export const MAX_PASSKEYS = 20

/** What a device is to sign: random, and accepted once. */
export interface PasskeyChallenge {
  /** SHA-256 of the id of the interaction, or of the session, that it belongs to, in hexadecimal. Has one; a new one replaces the old. */
  readonly holder: string
  readonly purpose: 'add' | 'use'
  /** 256 random bits in base64url. */
  readonly challenge: string
  readonly expiresAt: Instant
}

export type PasskeyAddition =
  | 'added'
  /** A person has it already: this one, or another. */
  | 'known'
  | 'too_many'
  /** The person is gone, disabled, or was revoked. */
  | 'revoked'

/** One use of a passkey, whose signature is right. */
export interface PasskeyUse {
  readonly credentialId: string
  readonly counter: number
  readonly at: Instant
}

export interface Passkeys {
  challenge(challenge: PasskeyChallenge): Promise<void>
  /** Consumes the challenge of a holder; undefined if there is none for this purpose, or it has expired. */
  take(
    holder: string,
    purpose: PasskeyChallenge['purpose'],
    at: Instant,
  ): Promise<string | undefined>
  /** Adds it and the event of it, unless its person was revoked after there were `revocations`. */
  add(passkey: Passkey, event: SigninEvent, revocations: number): Promise<PasskeyAddition>
  find(credentialId: string): Promise<Passkey | undefined>
  /** Oldest first. */
  ofPerson(personId: PersonId): Promise<readonly Passkey[]>
  /**
   * Notes a use, and returns the person. `cloned` if the device's counter has not grown since, so that another device has the same
   * key; a disabled person is returned without changes; `revoked` if the person was revoked after there were `revocations`.
   */
  use(use: PasskeyUse, revocations: number): Promise<Person | 'cloned' | 'revoked' | undefined>
  /** False if the person has no such passkey. */
  remove(personId: PersonId, id: PasskeyId, act: Act): Promise<boolean>
  /** Removes challenges that expired before `before`, at most `limit`; returns how many. */
  sweep(before: Instant, limit: number): Promise<number>
}

/** Why an answer of a device adds nothing. */
export type PasskeyRefusal =
  /** It came too late, or twice. */
  | 'gone'
  /** It is not right. */
  | 'refused'
  | Exclude<PasskeyAddition, 'added'>

/** Who adds a passkey, and from where. */
export interface PasskeyAdding {
  readonly holder: string
  readonly person: Person
  /** What the browser sent, which is not trusted. */
  readonly response: string
  readonly agent: string | null
  readonly clientId: string
  /** The network address. */
  readonly address: string
  readonly revocations: number
}

/** Adds passkeys for people who are signed in. */
export interface PasskeyDesk {
  /** What the browser passes to the device, as JSON. */
  offer(holder: string, person: Person): Promise<string>
  add(adding: PasskeyAdding): Promise<'added' | PasskeyRefusal>
}
