/** The first two checks of every call: the secret, then the kind of key (contract §2). */
import { GatewayError } from '#domain/errors.ts'
import type { ApiKey } from '#domain/key.ts'
import { andThen, type Soon } from '#domain/soon.ts'
import { demandActive, findCaller } from '../bearer.ts'
import type { CounterHouse } from '../house.ts'
import type { Visit } from '../visit.ts'

/** Any kind of key. @throws the codes of 401 */
export const admitAny = ({ store }: CounterHouse, visit: Visit): Soon<ApiKey> =>
  andThen(findCaller(visit.request, store.keys, visit.arrivedAt), (key) => {
    // From here on the answer carries this key's rate headers, a refusal of the key itself too.
    visit.key = key
    demandActive(key, visit.arrivedAt)
    return key
  })

/** A key that calls models. @throws the codes of 401, provisioning_key_not_allowed */
export const admitOrdinary = (house: CounterHouse, visit: Visit): Soon<ApiKey> =>
  andThen(admitAny(house, visit), (key) => {
    if (key.kind === 'ordinary') return key
    throw new GatewayError(
      'provisioning_key_not_allowed',
      'a provisioning key manages keys and never calls models; use an ordinary key',
    )
  })

/** A key that manages keys. @throws the codes of 401, provisioning_key_required */
export async function admitProvisioning(house: CounterHouse, visit: Visit): Promise<ApiKey> {
  const key = await admitAny(house, visit)
  if (key.kind === 'provisioning') return key
  throw new GatewayError(
    'provisioning_key_required',
    'this key calls models; keys are managed with a provisioning key',
  )
}

/** Asks again once a body has come: it may take minutes, and the key may have been revoked meanwhile. @throws the codes of 401 */
export async function readmit({ store, clock }: CounterHouse, { id }: ApiKey): Promise<void> {
  const key = await store.keys.find(id)
  if (key) demandActive(key, clock.now())
}
