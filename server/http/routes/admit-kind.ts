/** The first two checks of every call: the key, then its kind (contract §2). */
import { GatewayError } from '#domain/errors.ts'
import type { ApiKey } from '#domain/key.ts'
import type { MaybePromise } from '#domain/maybe-promise.ts'
import { findCaller, requireActive } from '../bearer.ts'
import type { ApiDeps } from '../deps.ts'
import type { RequestContext } from '../request-context.ts'

/** Any kind of key. @throws the codes of 401 */
export function admitAny(deps: ApiDeps, context: RequestContext): MaybePromise<ApiKey> {
  const key = findCaller(context.request, deps.store.keys, context.arrivedAt)
  return key instanceof Promise ? acceptKeyLater(deps, context, key) : acceptKey(deps, context, key)
}

const acceptKeyLater = async (
  deps: ApiDeps,
  context: RequestContext,
  key: Promise<ApiKey>,
): Promise<ApiKey> => acceptKey(deps, context, await key)

function acceptKey({ memory }: ApiDeps, context: RequestContext, key: ApiKey): ApiKey {
  // From here on, every answer has this key's rate headers, even if the key is then rejected.
  context.key = key
  context.held = memory.hold(key)
  requireActive(key, context.arrivedAt)
  return key
}

/** A key that calls models. @throws the codes of 401, provisioning_key_not_allowed */
export function admitOrdinary(deps: ApiDeps, context: RequestContext): MaybePromise<ApiKey> {
  const key = admitAny(deps, context)
  return key instanceof Promise ? requireOrdinaryLater(key) : requireOrdinary(key)
}

const requireOrdinaryLater = async (key: Promise<ApiKey>): Promise<ApiKey> =>
  requireOrdinary(await key)

function requireOrdinary(key: ApiKey): ApiKey {
  if (key.kind === 'ordinary') return key
  throw new GatewayError(
    'provisioning_key_not_allowed',
    'a provisioning key manages keys and never calls models; use an ordinary key',
  )
}

/** A key that manages keys. @throws the codes of 401, provisioning_key_required */
export async function admitProvisioning(deps: ApiDeps, context: RequestContext): Promise<ApiKey> {
  const key = await admitAny(deps, context)
  if (key.kind === 'provisioning') {
    await deps.store.keys.noteUse(key.id, context.arrivedAt)
    return key
  }
  throw new GatewayError(
    'provisioning_key_required',
    'this key calls models; keys are managed with a provisioning key',
  )
}

/** Checks the key again after its body was received, which may take minutes: it may have been revoked. @throws the codes of 401 */
export async function recheckKey({ store, clock }: ApiDeps, { id }: ApiKey): Promise<void> {
  const key = await store.keys.find(id)
  if (key) requireActive(key, clock.now())
}
