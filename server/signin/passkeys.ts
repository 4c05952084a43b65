/**
 * Adding passkeys and signing in with them (WebAuthn). Challenges and counters are the store's; the library checks origin, host, user
 * verification and signature. It is loaded by who uses a passkey first.
 */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { type Clock, HOUR_MS, later } from '#domain/clock.ts'
import { browserName } from '#pages/browser-name.ts'
import { amrOf } from './claims.ts'
import type { SigninDeps } from './deps.ts'
import { authenticatorName } from './passkey-names.ts'
import { randomSecret } from './register/digest.ts'
import {
  newPasskeyId,
  type Passkey,
  type PasskeyChallenge,
  type PasskeyDesk,
  type Passkeys,
  policyAt,
  type RelyingParty,
  relyingPartyOf,
} from './register/passkey.ts'
import type { Person, PersonId } from './register/person.ts'
import { newSigninEvent } from './register/signin-event.ts'

/** A passkey that was used, and its person. */
export interface PasskeyProof {
  readonly kind: 'proved'
  /** May be disabled. */
  readonly person: Person
  /** What it proves, for the `amr` of ID tokens. */
  readonly amr: readonly string[]
}

export type PasskeyUsed =
  | PasskeyProof
  | { readonly kind: 'gone' | 'revoked' }
  /** `detail`: why, for the operator. */
  | { readonly kind: 'refused' | 'cloned'; readonly detail: string; readonly person?: PersonId }

export interface PasskeyFlow extends PasskeyDesk {
  readonly isRequired: boolean
  /** What the browser passes to the device, as JSON: for a passkey of this person, or of anybody. */
  ask(holder: string, of: PersonId | null): Promise<string>
  /** Checks what the browser sent, which is not trusted. */
  use(
    holder: string,
    response: string,
    of: PersonId | null,
    revocations: number,
  ): Promise<PasskeyUsed>
}

const library = async () => await import('@simplewebauthn/server')

/** As long as the page that asks is valid. */
const CHALLENGE_MS = HOUR_MS
/** How long the browser waits for the person. */
const TIMEOUT_MS = 5 * 60_000

/** Null where the operator has none, or browsers have none at this address. */
export function openPasskeys(parts: PasskeyParts): PasskeyFlow | null {
  const { issuer, passkeys } = parts
  const party = relyingPartyOf(issuer)
  const policy = policyAt(issuer, passkeys)
  if (policy === 'off' || party === null) return null
  return {
    isRequired: policy === 'required',
    ...adding(parts, party),
    ...using(parts, party),
  }
}

function adding(
  { store: { passkeys }, clock, observed, brand }: PasskeyParts,
  party: RelyingParty,
): PasskeyDesk {
  const challenge = challenger(passkeys, clock, 'add')
  return {
    async offer(holder, { id, email, name }) {
      const known = await passkeys.ofPerson(id)
      const { generateRegistrationOptions } = await library()
      const options = await generateRegistrationOptions({
        rpName: brand?.name ?? party.id,
        rpID: party.id,
        userID: handleOf(id),
        userName: email,
        userDisplayName: name ?? email,
        // As bytes, because the library would encode a text once more.
        challenge: new Uint8Array(Buffer.from(await challenge(holder), 'base64url')),
        timeout: TIMEOUT_MS,
        attestationType: 'none',
        excludeCredentials: known.map(toDescriptor),
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      })
      return JSON.stringify(options)
    },
    async add({ holder, person, response, agent, clientId, address, revocations }) {
      const at = clock.now()
      const asked = await passkeys.take(holder, 'add', at)
      if (asked === undefined) return 'gone'
      const made = await registered(response, expectedOf(party, asked))
      if (made === null) return 'refused'
      const { model, ...key } = made
      const passkey: Passkey = {
        ...key,
        id: newPasskeyId(),
        personId: person.id,
        name: authenticatorName(model) ?? browserName(agent ?? '') ?? 'passkey',
        createdAt: at,
        lastUsedAt: null,
      }
      const facts = { outcome: 'passkey_added', personId: person.id, detail: passkey.name }
      const event = newSigninEvent(at, { ...facts, clientId, address })
      const addition = await passkeys.add(passkey, event, revocations)
      if (addition === 'added') observed?.(event)
      return addition
    },
  }
}

function using(
  { store: { passkeys }, clock }: PasskeyParts,
  party: RelyingParty,
): Pick<PasskeyFlow, 'ask' | 'use'> {
  const challenge = challenger(passkeys, clock, 'use')
  return {
    async ask(holder, of) {
      const known = of === null ? undefined : await passkeys.ofPerson(of)
      // Plain words: every sign-in page asks, and the library is loaded by who has used a passkey.
      return JSON.stringify({
        rpId: party.id,
        challenge: await challenge(holder),
        allowCredentials: known?.map((one) => ({ ...toDescriptor(one), type: 'public-key' })),
        timeout: TIMEOUT_MS,
        userVerification: 'required',
      })
    },
    async use(holder, response, of, revocations) {
      const at = clock.now()
      const asked = await passkeys.take(holder, 'use', at)
      if (asked === undefined) return { kind: 'gone' }
      const assertion = readResponse<AuthenticationResponseJSON>(response)
      if (assertion === undefined) return { kind: 'refused', detail: 'not readable' }
      const passkey = await passkeys.find(assertion.id)
      if (passkey === undefined) return { kind: 'refused', detail: 'not known' }
      const { personId, credentialId, name, isSynced } = passkey
      const refused = (detail: string) => ({ kind: 'refused', detail, person: personId }) as const
      if (of !== null && of !== personId) return refused('of somebody else')
      const counter = await asserted(assertion, passkey, expectedOf(party, asked))
      if (typeof counter === 'string') return refused(counter)
      const person = await passkeys.use({ credentialId, counter, at }, revocations)
      if (person === 'cloned') {
        return { kind: 'cloned', detail: `counter ${counter} of ${name}`, person: personId }
      }
      if (person === 'revoked') return { kind: 'revoked' }
      if (person === undefined) return refused('removed')
      return { kind: 'proved', person, amr: amrOf(isSynced) }
    },
  }
}

/** Makes and keeps a challenge, in base64url. */
const challenger =
  (passkeys: Passkeys, clock: Clock, purpose: PasskeyChallenge['purpose']) =>
  async (holder: string): Promise<string> => {
    const challenge = randomSecret()
    const expiresAt = later(clock.now(), CHALLENGE_MS)
    await passkeys.challenge({ holder, purpose, challenge, expiresAt })
    return challenge
  }

const expectedOf = ({ id, origin }: RelyingParty, expectedChallenge: string) => ({
  expectedChallenge,
  expectedOrigin: origin,
  expectedRPID: id,
  requireUserVerification: true,
})

type PasskeyParts = Pick<
  SigninDeps,
  'store' | 'clock' | 'issuer' | 'observed' | 'passkeys' | 'brand'
>

/** What a device knows a person by: their id, which says nothing of them. */
const handleOf = (id: PersonId): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(id))

const encode = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')

const toDescriptor = ({ credentialId, transports }: Passkey) => ({
  id: credentialId,
  transports: [...transports],
})

/** Undefined for what no script of ours would send. */
function readResponse<Response extends RegistrationResponseJSON | AuthenticationResponseJSON>(
  text: string,
): Response | undefined {
  try {
    const sent = JSON.parse(text) as Response | null
    const isResponse = typeof sent?.id === 'string' && typeof sent.response === 'object'
    return isResponse && sent.response !== null ? sent : undefined
  } catch {
    return undefined
  }
}

type Expected = ReturnType<typeof expectedOf>

type Made = Pick<Passkey, 'credentialId' | 'publicKey' | 'counter' | 'transports' | 'isSynced'> & {
  /** The AAGUID of its make, which a browser may withhold. */
  readonly model: string
}

const MAX_TRANSPORTS = 10

/** Null if anything is not right. */
async function registered(text: string, expected: Expected): Promise<Made | null> {
  const response = readResponse<RegistrationResponseJSON>(text)
  if (response === undefined) return null
  const { verifyRegistrationResponse } = await library()
  try {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      ...expected,
      response,
    })
    if (!verified) return null
    const { credential, aaguid, credentialDeviceType } = registrationInfo
    const transports: readonly unknown[] = [credential.transports ?? []].flat()
    return {
      credentialId: credential.id,
      publicKey: encode(credential.publicKey),
      counter: credential.counter,
      transports: transports.filter((one) => typeof one === 'string').slice(0, MAX_TRANSPORTS),
      isSynced: credentialDeviceType === 'multiDevice',
      model: aaguid,
    }
  } catch {
    return null
  }
}

/** The device's counter, which the store judges in the act that keeps it; or what is wrong, in the library's words. */
async function asserted(
  response: AuthenticationResponseJSON,
  { personId, credentialId, publicKey }: Passkey,
  expected: Expected,
): Promise<number | string> {
  const { userHandle } = response.response
  if (userHandle !== undefined && userHandle !== encode(handleOf(personId))) {
    return 'its user handle is of somebody else'
  }
  const { verifyAuthenticationResponse } = await library()
  const key = new Uint8Array(Buffer.from(publicKey, 'base64url'))
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      ...expected,
      response,
      credential: { id: credentialId, publicKey: key, counter: 0 },
    })
    return verified ? authenticationInfo.newCounter : 'its signature is not right'
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown)
  }
}
