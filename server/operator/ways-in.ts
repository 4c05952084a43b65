/** The ways in which a person can sign in without a mailed code: one of them stays where no codes are mailed. */
import { GatewayError } from '#domain/errors.ts'
import type { PersonId } from '#signin/register/person.ts'
import type { OperatorDeps } from './deps.ts'

/** What is about to be taken away. */
interface WayIn {
  readonly issuer?: string
  readonly passkey?: string
}

/** Who changes their own ways in keeps one; an operator may take away all. @throws invalid_request */
export async function requireAnotherWay(
  { store, actor, live }: OperatorDeps,
  personId: PersonId,
  { issuer, passkey }: WayIn,
): Promise<void> {
  if (actor === undefined || live?.mailsCodes !== false) return
  const { identities, passkeys } = store.signin
  const linked = await identities.ofPerson(personId)
  if (linked.some((identity) => identity.issuer !== issuer)) return
  // Where they are required, they come beside another way.
  const owned = live.passkeys === 'required' ? [] : await passkeys.ofPerson(personId)
  if (owned.some(({ id }) => id !== passkey)) return
  const message = 'nobody removes their only way in: add another first'
  throw new GatewayError('invalid_request', message, { param: 'way_in' })
}
