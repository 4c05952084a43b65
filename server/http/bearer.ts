/** Bearer authentication: who is calling, looked up on every request, so that a revocation applies at once; then the kind of key. */
import type { Clock, Instant } from '#domain/clock.ts'
import { type ErrorCode, GatewayError } from '#domain/errors.ts'
import { type ApiKey, type KeyStatus, type Keys, keyStatus } from '#domain/key.ts'
import { holdsSecret } from '#domain/secret.ts'
import { isMessagesAddress } from './paths.ts'
import type { ByteBudget } from './read/byte-budget.ts'
import type { CallerContext, RequestContext } from './request-context.ts'

const BEARER = /^bearer +(\S.*)$/i

const REASONS: Readonly<Record<Exclude<KeyStatus, 'active'>, readonly [ErrorCode, string]>> = {
  revoked: ['api_key_revoked', 'this API key was revoked'],
  expired: ['api_key_expired', 'this API key has expired'],
  disabled: ['api_key_disabled', 'this API key is disabled'],
}

/** Two such headers arrive joined, and are no secret. @throws missing_api_key (contract §3) */
function readBearer({ headers, url }: Request): string {
  const stated = headers.get('authorization')
  const token = stated === null ? readApiKey(headers, url) : BEARER.exec(stated)?.[1]
  if (token !== undefined) return token
  const other = isMessagesAddress(url) ? ', or as "x-api-key: if-..." alone' : ''
  throw new GatewayError(
    'missing_api_key',
    `send your API key in one header, as "Authorization: Bearer if-..."${other}`,
  )
}

/** Older clients of Anthropic's API name the key so. Beside a bearer it may be a key for another service. */
const readApiKey = (headers: Headers, url: string): string | undefined =>
  isMessagesAddress(url) ? (headers.get('x-api-key') ?? undefined) : undefined

/** What may be the beginning of an API key. */
const LIKE_KEY = /if-(?:pk-)?[0-9A-Za-z]{24}/

/** Rejects a field that is an API key or most of one, or contains a whole one, so that no answer and no log repeats it. @throws invalid_request */
export function rejectKeyLike(text: string, param: string): void {
  const at = text.search(LIKE_KEY)
  if (at === 0 || (at > 0 && holdsSecret(text))) throw misplacedKey(param)
}

/** The same for a name that the client chooses: it may begin like a key, but not contain a valid one. @throws invalid_request */
export function rejectWholeKey(text: string, param: string): void {
  if (holdsSecret(text)) throw misplacedKey(param)
}

const misplacedKey = (param: string): GatewayError =>
  new GatewayError(
    'invalid_request',
    `${param} holds an API key; its only place is the Authorization header`,
    { param },
  )

/** @throws api_key_revoked, api_key_expired, api_key_disabled */
function requireActive(key: ApiKey, at: Instant): void {
  const status = keyStatus(key, at)
  if (status === 'active') return
  throw new GatewayError(...REASONS[status], {
    metadata: { limit: 'status', limit_value: 'active', used: status, resets_at: null },
  })
}

/** What tells who is calling. */
interface CallerDeps {
  readonly clock: Clock
  readonly store: { readonly keys: Keys }
  readonly memory: ByteBudget
}

/** Whose request it is, by a key of any kind. @throws the codes of 401 */
export async function findCaller(
  { store, memory }: CallerDeps,
  context: RequestContext,
): Promise<CallerContext> {
  const key = await store.keys.findBySecret(readBearer(context.request), context.arrivedAt)
  if (!key) throw new GatewayError('invalid_api_key', 'there is no such API key')
  // From here on, every answer has this key's rate headers, even if the key is then rejected.
  context.key = key
  context.taken = memory.forRequest(key)
  requireActive(key, context.arrivedAt)
  return context as CallerContext
}

/** One whose key calls models. @throws provisioning_key_not_allowed */
export function requireOrdinary(caller: CallerContext): CallerContext {
  if (caller.key.kind === 'ordinary') return caller
  throw new GatewayError(
    'provisioning_key_not_allowed',
    'a provisioning key manages keys and never calls models; use an ordinary key',
  )
}

/** A key that manages keys. @throws the codes of 401, provisioning_key_required */
export async function findProvisioningCaller(
  deps: CallerDeps,
  context: RequestContext,
): Promise<ApiKey> {
  const { key } = await findCaller(deps, context)
  if (key.kind === 'provisioning') {
    deps.store.keys.noteUse(key.id, context.arrivedAt)
    return key
  }
  throw new GatewayError(
    'provisioning_key_required',
    'this key calls models; keys are managed with a provisioning key',
  )
}

/** Checks a provisioning key again after its body was received, which may take minutes: it may have been revoked. @throws the codes of 401 */
export async function recheckKey({ store, clock }: CallerDeps, { id }: ApiKey): Promise<void> {
  const key = await store.keys.find(id)
  if (key) requireActive(key, clock.now())
}
