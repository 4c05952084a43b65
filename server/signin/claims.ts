/** What applications are told of a person, by scope (contract §10). */
import type { Account } from 'oidc-provider/lib/provider.js'
import { unixSeconds } from '#domain/clock.ts'
import type { Person, PersonId } from './register/person.ts'
import type { SigninStore } from './store.ts'

export const CLAIMS_BY_SCOPE = {
  openid: ['sub'],
  email: ['email', 'email_verified'],
  profile: ['name', 'preferred_username', 'picture', 'updated_at'],
} as const

/** Undefined for a person who is gone or disabled: every token and session of theirs is then refused. */
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
  // Many applications cannot do without a name; the address before its @ is one that the person knows.
  name: name ?? email.slice(0, email.lastIndexOf('@')),
  preferred_username: email,
  updated_at: unixSeconds(updatedAt),
})
