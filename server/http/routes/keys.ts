/** /v1/keys: a provisioning key issues, lists, amends and revokes the ordinary keys of its account (contract §5). */
import { type Act, type ActChanges, draftAct } from '#domain/act.ts'
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import type { KeyId } from '#domain/id.ts'
import { type ApiKey, draftKey } from '#domain/key.ts'
import {
  describeIssue,
  describeRevocation,
  type KeyRecord,
  renderKey,
  withSpending,
} from '#domain/key-report.ts'
import { NO_LIMITS } from '#domain/limits.ts'
import { newSecret } from '#domain/secret.ts'
import { requireFuture, statedLimits } from '#forms/fields.ts'
import { maskWarnings, nameWarnings } from '#forms/key-warnings.ts'
import { findProvisioningCaller, recheckKey } from '../bearer.ts'
import type { ApiDeps } from '../deps.ts'
import { readBody } from '../read/body.ts'
import {
  readAmendment,
  readIssue,
  readKeyListQuery,
  requireUniqueNames,
} from '../read/key-request.ts'
import { type RequestContext, readQuota, renderJson } from '../request-context.ts'
import { unknownCursor } from '../unknown-cursor.ts'

/** Large enough for every field at its maximum size with every character escaped. */
export const MAX_FORM_BYTES = 1024 * 1024

/** 201; the only response that contains the secret. */
export async function issueKey(deps: ApiDeps, context: RequestContext): Promise<Response> {
  const caller = await findProvisioningCaller(deps, context)
  const form = await readForm(deps, context, readIssue)
  await recheckKey(deps, caller)
  const { store, clock } = deps
  const at = clock.now()
  const { accountId } = caller
  const { name } = form
  const limits = { ...NO_LIMITS, ...statedLimits(form) }
  const expiresAt = requireFuture(form.expires_at ?? null, at)
  const warnings = [
    ...(await nameWarnings(store, name, accountId)),
    ...maskWarnings(store, limits.allowedModels),
  ]
  const secret = newSecret()
  const draft = { accountId, name, kind: 'ordinary', note: null, limits, expiresAt } as const
  const key = draftKey(draft, secret, at)
  await store.keys.issue(
    key,
    secret,
    actOf(deps, caller, 'keys.create', key.id, describeIssue(key)),
  )
  const record = { ...(await recordOf(deps, key)), key: secret, ...withWarnings(warnings) }
  await readQuota(deps, context)
  const response = renderJson(context, record, 201)
  response.headers.set('Cache-Control', 'no-store')
  return response
}

/** Newest first, including the account's provisioning keys. */
export async function listKeys(
  deps: ApiDeps,
  context: RequestContext,
  sent: Readonly<Record<string, string>>,
): Promise<Response> {
  const caller = await findProvisioningCaller(deps, context)
  const { accountId } = caller
  const query = readKeyListQuery(sent)
  // Keys are never deleted: what is none is no place in the list.
  if (query.after !== undefined && (await lookUpOwn(deps, caller, query.after)) === undefined) {
    throw unknownCursor('after')
  }
  const page = await deps.store.keys.list({ ...query, accountId })
  const data = await recordsOf(deps, page.keys)
  await readQuota(deps, context)
  return renderJson(context, {
    object: 'list',
    data,
    has_more: page.hasMore,
    first_id: data.at(0)?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    total_count: page.totalCount,
  })
}

/** @throws key_not_found */
export async function showAnyKey(
  deps: ApiDeps,
  context: RequestContext,
  id: string,
): Promise<Response> {
  const caller = await findProvisioningCaller(deps, context)
  const record = await recordOf(deps, await findOwn(deps, caller, id))
  await readQuota(deps, context)
  return renderJson(context, record)
}

/** Changes the stated fields, from the next request. @throws key_not_found, provisioning_key_not_allowed, key_revoked */
export async function amendKey(
  deps: ApiDeps,
  context: RequestContext,
  id: string,
): Promise<Response> {
  const caller = await findProvisioningCaller(deps, context)
  const form = await readForm(deps, context, readAmendment)
  await recheckKey(deps, caller)
  const { store, clock } = deps
  const at = clock.now()
  const found = requireOrdinary(await findOwn(deps, caller, id))
  const { name, disabled, expires_at } = form
  const limits = statedLimits(form)
  const renamed = name !== undefined && name !== found.name
  const warnings = [
    ...(renamed ? await nameWarnings(store, name, caller.accountId) : []),
    ...maskWarnings(store, limits.allowedModels ?? null),
  ]
  const { after } = await store.keys.amend(
    found.id,
    {
      limits,
      ...(name !== undefined && { name }),
      ...(disabled !== undefined && { disabled }),
      ...(expires_at !== undefined && { expiresAt: requireFuture(expires_at, at) }),
    },
    actOf(deps, caller, 'keys.edit', found.id),
  )
  const record = { ...(await recordOf(deps, after)), ...withWarnings(warnings) }
  await readQuota(deps, context)
  return renderJson(context, record)
}

/** Idempotent; running streams are completed. @throws key_not_found, provisioning_key_not_allowed */
export async function revokeKey(
  deps: ApiDeps,
  context: RequestContext,
  id: string,
): Promise<Response> {
  const caller = await findProvisioningCaller(deps, context)
  const key = requireOrdinary(await findOwn(deps, caller, id))
  const revoked = actOf(deps, caller, 'keys.revoke', key.id, describeRevocation(key))
  await deps.store.keys.revoke(key.id, revoked)
  await readQuota(deps, context)
  return renderJson(context, { id: key.id, object: 'api_key.deleted', deleted: true })
}

/** An act of a provisioning key, under its id, with the same verbs as an operator's acts. */
const actOf = (
  { clock }: ApiDeps,
  { id }: ApiKey,
  verb: string,
  target: KeyId,
  changed: ActChanges = {},
): Act => draftAct(clock.now(), id, verb, { target, changed })

async function readForm<Form>(
  { timings }: ApiDeps,
  context: RequestContext,
  read: (fields: JsonObject) => Promise<Form>,
): Promise<Form> {
  const body = await readBody(context, timings.bodyDeadlineMs, MAX_FORM_BYTES)
  const form = await read(body.fields)
  requireUniqueNames(body)
  return form
}

/** Another account's key counts as missing, so that its existence is not disclosed. */
async function findOwn(deps: ApiDeps, caller: ApiKey, id: string): Promise<ApiKey> {
  const key = await lookUpOwn(deps, caller, id)
  if (key !== undefined) return key
  throw new GatewayError('key_not_found', 'your account has no key with this id')
}

async function lookUpOwn(
  { store }: ApiDeps,
  { accountId }: ApiKey,
  id: string,
): Promise<ApiKey | undefined> {
  const key = await store.keys.find(id as KeyId)
  return key?.accountId === accountId ? key : undefined
}

/** A leaked provisioning key must not be able to disable others or extend its own expiry. */
function requireOrdinary(key: ApiKey): ApiKey {
  if (key.kind === 'ordinary') return key
  throw new GatewayError(
    'provisioning_key_not_allowed',
    'a provisioning key is changed and revoked by the operator, not over HTTP',
  )
}

async function recordsOf(
  { store, clock }: ApiDeps,
  keys: readonly ApiKey[],
): Promise<readonly KeyRecord[]> {
  const at = clock.now()
  const read = await withSpending(store.admissions, keys, at)
  return read.map(([key, spending]) => renderKey(key, spending, at))
}

const recordOf = async (deps: ApiDeps, key: ApiKey): Promise<KeyRecord> =>
  (await recordsOf(deps, [key]))[0] as KeyRecord

/** A record without warnings has no such field. */
const withWarnings = (warnings: readonly string[]) => (warnings.length > 0 ? { warnings } : {})
