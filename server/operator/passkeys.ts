/** Verbs for the passkeys of people. One is added in a browser, by the person alone. */
import * as z from 'zod/mini'
import { GatewayError } from '#domain/errors.ts'
import type { PasskeyId } from '#signin/register/passkey.ts'
import { passkeysOf } from './passkey-record.ts'
import { findPerson, personFields } from './people.ts'
import { mutation, verb } from './verb.ts'
import { requireAnotherWay } from './ways-in.ts'

/** Oldest first. @throws account_not_found, person_not_found */
export const listPasskeys = verb(z.strictObject(personFields), async (deps, input) =>
  passkeysOf(deps, (await findPerson(deps, input.person, input.account)).id),
)

/** Existing sessions stay. @throws account_not_found, person_not_found; invalid_request for the last way in */
export const removePasskey = mutation(
  'users.passkeys.remove',
  z.strictObject({ ...personFields, passkey: z.string() }),
  async (deps, input, act) => {
    const { id, email } = await findPerson(deps, input.person, input.account)
    const passkey = (await passkeysOf(deps, id)).find((one) => one.id === input.passkey)
    const removed = act(id, { removed_passkey: input.passkey })
    await requireAnotherWay(deps, id, { passkey: input.passkey })
    const { passkeys } = deps.store.signin
    if (!passkey || !(await passkeys.remove(id, input.passkey as PasskeyId, removed))) {
      throw new GatewayError('person_not_found', `${email} has no passkey "${input.passkey}"`, {
        hint: `gatewayctl users passkeys list ${id}`,
      })
    }
    return { ...passkey, person: email, removed: true }
  },
)
