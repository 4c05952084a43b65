/** The claims about a person, by scope (contract §10). */
import type { Account } from 'oidc-provider/lib/provider.js'
import { unixSeconds } from '#domain/clock.ts'
import type { Person, PersonId } from './register/person.ts'
import type { SigninStore } from './store.ts'

/** `picture` belongs to the scope as announced, and is omitted where a person has none, which so far is everybody. */
export const CLAIMS_BY_SCOPE = {
  openid: ['sub'],
  email: ['email', 'email_verified'],
  profile: ['name', 'preferred_username', 'picture', 'updated_at'],
} as const

/** For the discovery document: claims of the scopes, and those of every ID token. The library would add `sid`, which is not issued. */
export const CLAIMS_SUPPORTED = [...Object.values(CLAIMS_BY_SCOPE).flat(), 'iss', 'auth_time']

/** Undefined if the person was removed or disabled; all of their tokens and sessions are then rejected. */
export const accountFinder =
  ({ people }: SigninStore) =>
  async (_ctx: unknown, id: string): Promise<Account | undefined> => {
    const person = await people.find(id as PersonId)
    if (person === undefined || person.disabledAt !== null) return undefined
    return { accountId: person.id, claims: async () => ({ sub: person.id, ...claimsOf(person) }) }
  }

const claimsOf = ({ email, isEmailVerified, name, updatedAt }: Person) => ({
  email,
  email_verified: isEmailVerified,
  // Many applications require a name; the local part of the address is one that the person recognises.
  name: name ?? email.slice(0, email.lastIndexOf('@')),
  preferred_username: email,
  updated_at: unixSeconds(updatedAt),
})
