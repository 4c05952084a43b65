/** The first two checks of every call: the secret, then the kind of key (contract §2). */
import { GatewayError } from '#domain/errors.ts'
import type { ApiKey } from '#domain/key.ts'
import type { Soon } from '#domain/soon.ts'
import { demandActive, findCaller } from '../bearer.ts'
import type { CounterHouse } from '../house.ts'
import type { Visit } from '../visit.ts'

/** Any kind of key. @throws the codes of 401 */
export function admitAny({ store }: CounterHouse, visit: Visit): Soon<ApiKey> {
  const key = findCaller(visit.request, store.keys, visit.arrivedAt)
  return key instanceof Promise ? letInLater(visit, key) : letIn(visit, key)
}

const letInLater = async (visit: Visit, key: Promise<ApiKey>): Promise<ApiKey> =>
  letIn(visit, await key)

function letIn(visit: Visit, key: ApiKey): ApiKey {
  // From here on the answer carries this key's rate headers, a refusal of the key itself too.
  visit.key = key
  demandActive(key, visit.arrivedAt)
  return key
}

/** A key that calls models. @throws the codes of 401, provisioning_key_not_allowed */
export function admitOrdinary(house: CounterHouse, visit: Visit): Soon<ApiKey> {
  const key = admitAny(house, visit)
  return key instanceof Promise ? demandOrdinaryLater(key) : demandOrdinary(key)
}

const demandOrdinaryLater = async (key: Promise<ApiKey>): Promise<ApiKey> =>
  demandOrdinary(await key)

function demandOrdinary(key: ApiKey): ApiKey {
  if (key.kind === 'ordinary') return key
  throw new GatewayError(
    'provisioning_key_not_allowed',
    'a provisioning key manages keys and never calls models; use an ordinary key',
  )
}

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
