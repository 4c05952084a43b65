/** The claims about a person, by scope (contract §10). */
import { InvalidGrant } from 'oidc-provider/lib/helpers/errors.js'
import type { Account, Context } from 'oidc-provider/lib/provider.js'
import { type Clock, unixSeconds } from '#domain/clock.ts'
import { mayEnter } from './register/access.ts'
import type { PasskeyPolicy } from './register/passkey.ts'
import type { Person, PersonId } from './register/person.ts'
import type { SigninStore } from './store.ts'

/** `picture` belongs to the scope as announced, and is omitted where a person has none, which so far is everybody; `locale` until they choose a language. */
export const CLAIMS_BY_SCOPE = {
  openid: ['sub', 'auth_time', 'acr', 'amr'],
  email: ['email', 'email_verified'],
  profile: ['name', 'preferred_username', 'picture', 'locale', 'updated_at'],
  groups: ['groups'],
} as const

/** For the discovery document: claims of the scopes, those of every ID token, and `sid`, for clients that are told of sign-outs. */
export const CLAIMS_SUPPORTED = [...Object.values(CLAIMS_BY_SCOPE).flat(), 'iss', 'sid']

/** `acr`: one proof, by a code to an address or by a third party. */
export const ONE_FACTOR = '1'
/** `acr`: by a passkey, which is a device and what unlocks it. */
export const TWO_FACTORS = '2'

/** `amr` (RFC 8176) of a passkey: a key that is bound to its device, or copied between several; somebody present; and two factors. */
export const amrOf = (isSynced: boolean): readonly string[] => [
  isSynced ? 'swk' : 'hwk',
  'user',
  'mfa',
]

/**
 * Undefined if the person was removed or disabled; all of their tokens and sessions are then rejected. So are the tokens (`token`)
 * of an application that they may no longer enter; those who are at its door get a page instead (`policy.ts`).
 * @throws InvalidGrant of a refresh token that was just used
 */
export const accountFinder =
  ({ people, groups }: SigninStore, passkeys: PasskeyPolicy, clock: Clock) =>
  async ({ oidc }: Context, id: string, token?: Token): Promise<Account | undefined> => {
    refuseJustRefreshed(token ?? {}, clock)
    const person = await people.find(id as PersonId)
    if (person === undefined || person.disabledAt !== null) return undefined
    const known = { ...person, groups: await groups.ofPerson(person.id) }
    const account: Account = {
      accountId: person.id,
      mayEnter: ({ access }) => mayEnter(access, known),
      claims: async (use) => {
        const isBare = use === 'id_token' && oidc.client?.id_token_claims === false
        return { sub: person.id, ...(!isBare && claimsOf(known)) }
      },
    }
    const isShut = token !== undefined && oidc.client && !account.mayEnter(oidc.client)
    return isShut || (passkeys === 'required' && isOfOneFactor(token)) ? undefined : account
  }

/** What the library looks the account up for, with the proof that it was given for where it keeps that. */
interface Token {
  readonly kind?: string
  /** When it was used, in seconds. */
  readonly consumed?: number
  readonly acr?: string
}

/** An application that refreshes twice at once, in two tabs, is not a thief. */
const REFRESH_LEEWAY_MS = 10_000

/**
 * Refuses a refresh token that another request has just used, and what the other was given stays. A later replay revokes the family.
 * @throws InvalidGrant
 */
function refuseJustRefreshed({ kind, consumed }: Token, clock: Clock): void {
  if (kind !== 'RefreshToken' || consumed === undefined) return
  const age = clock.now() - consumed * 1000
  if (age >= 0 && age < REFRESH_LEEWAY_MS) {
    throw new InvalidGrant('refresh token already used, less than ten seconds ago')
  }
}

/** An access token, which keeps no proof, ends within the hour. */
const EXCHANGED: readonly string[] = ['AuthorizationCode', 'RefreshToken', 'DeviceCode']

const isOfOneFactor = (token: Token | undefined): boolean =>
  token?.kind !== undefined && EXCHANGED.includes(token.kind) && token.acr !== TWO_FACTORS

const claimsOf = ({
  email,
  isEmailVerified,
  name,
  language,
  updatedAt,
  groups,
}: Person & { readonly groups: readonly string[] }) => ({
  email,
  email_verified: isEmailVerified,
  // Many applications require a name; the local part of the address is one that the person recognises.
  name: name ?? email.slice(0, email.lastIndexOf('@')),
  preferred_username: email,
  ...(language !== null && { locale: language }),
  updated_at: unixSeconds(updatedAt),
  groups,
})
