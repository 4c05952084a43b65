/** Keys, as an operator issues, lists, shows and revokes them. */
import { z } from 'zod'
import { type AllowList, idleMasks } from '#domain/allow-list.ts'
import { GatewayError } from '#domain/errors.ts'
import { type KeyId, newKeyId } from '#domain/id.ts'
import { type ApiKey, NO_LIMITS } from '#domain/key.ts'
import { type KeyRecord, renderKey } from '#domain/key-report.ts'
import type { WindowReading } from '#domain/quota.ts'
import { labelOf, newSecret, readSecret } from '#domain/secret.ts'
import { findAccount } from './accounts.ts'
import {
  accountField,
  limitsFields,
  nameField,
  noteField,
  statedLimits,
  timeField,
} from './fields.ts'
import { findKey } from './find-key.ts'
import { nearest } from './nearest.ts'
import type { Office } from './office.ts'
import { verb } from './verb.ts'

export interface OperatorKeyRecord extends KeyRecord {
  readonly note: string | null
}

export interface IssuedKeyRecord extends OperatorKeyRecord {
  /** The secret; this is its only appearance. */
  readonly key: string
  readonly warnings: readonly string[]
}

const PAGE_KEYS = 500

/** The record of a key with its usage at this moment. */
export async function reportKey({ store, clock }: Office, key: ApiKey): Promise<OperatorKeyRecord> {
  const at = clock.now()
  return { ...renderKey(key, await store.admissions.usage(key.id, at), at), note: key.note }
}

/** Issues a key; the answer carries its secret once. @throws account_not_found */
export const createKey = verb(
  z.strictObject({
    ...limitsFields,
    name: nameField,
    account: accountField,
    kind: z.enum(['ordinary', 'provisioning']).default('ordinary'),
    note: noteField.nullable().default(null),
    expires_at: timeField.nullable().default(null),
  }),
  async (office, input): Promise<IssuedKeyRecord> => {
    const { store, clock } = office
    const at = clock.now()
    const account = await findAccount(office, input.account)
    const warnings = await warningsFor(office, input.name, input.allowed_models ?? null)
    const secret = newSecret()
    const key: ApiKey = {
      id: newKeyId(at),
      accountId: account.id,
      name: input.name,
      kind: input.kind,
      label: labelOf(secret),
      note: input.note,
      limits: { ...NO_LIMITS, ...statedLimits(input) },
      createdAt: at,
      updatedAt: at,
      lastUsedAt: null,
      expiresAt: input.expires_at,
      disabledAt: null,
      revokedAt: null,
    }
    await store.keys.issue(key, secret)
    return { ...(await reportKey(office, key)), key: secret, warnings }
  },
)

async function warningsFor(office: Office, name: string, masks: AllowList): Promise<string[]> {
  const namesakes = await office.store.keys.search(name, 2)
  const taken = namesakes.some((key) => key.name === name && key.revokedAt === null)
  return [
    ...(taken ? [`another key is called "${name}" too; tell them apart by id`] : []),
    ...(await maskWarnings(office, masks)),
  ]
}

/** One sentence for each mask that matches no model that is known today. */
export async function maskWarnings({ store }: Office, masks: AllowList): Promise<string[]> {
  if (masks === null) return []
  const models = (await store.models.list()).map(({ id }) => id)
  const providers = [...new Set(models.map((id) => `${id.slice(0, id.indexOf('/'))}/*`))]
  return idleMasks(masks, models).map((mask) => {
    const meant = nearest(mask, mask.endsWith('/*') ? providers : models)
    return `"${mask}" matches no model${meant ? `; did you mean "${meant}"?` : ' today'}`
  })
}

/** Newest first. */
export const listKeys = verb(
  z.strictObject({
    include_revoked: z.boolean().default(false),
    kind: z.enum(['ordinary', 'provisioning']).nullable().default(null),
  }),
  async (office, input): Promise<readonly OperatorKeyRecord[]> => {
    const keys = await everyKey(office, input.include_revoked)
    const wanted = input.kind === null ? keys : keys.filter(({ kind }) => kind === input.kind)
    return await Promise.all(wanted.map((key) => reportKey(office, key)))
  },
)

/** All keys, newest first, read page by page. */
export async function everyKey({ store }: Office, includeRevoked: boolean): Promise<ApiKey[]> {
  const all: ApiKey[] = []
  let after: KeyId | undefined
  for (;;) {
    const page = await store.keys.list({
      includeRevoked,
      limit: PAGE_KEYS,
      ...(after === undefined ? {} : { after }),
    })
    all.push(...page.keys)
    after = page.keys.at(-1)?.id
    if (!page.hasMore || after === undefined) return all
  }
}

const renderWindow = (reading: WindowReading | null) =>
  reading === null
    ? null
    : {
        limit: reading.limit,
        remaining: reading.remaining,
        reset_seconds: reading.resetSeconds,
      }

/** One key and what is left of its windows. @throws key_not_found */
export const showKey = verb(z.strictObject({ key: z.string().min(1) }), async (office, input) =>
  detailsOf(office, await findKey(office, input.key)),
)

/** The key that answers to a whole secret. @throws key_not_found */
export const identifyKey = verb(z.strictObject({ secret: z.string() }), async (office, input) => {
  const secret = readSecret(input.secret)
  const key = secret && (await office.store.keys.findBySecret(secret, office.clock.now()))
  if (!key) throw new GatewayError('key_not_found', 'no key answers to this secret')
  return detailsOf(office, key)
})

async function detailsOf(office: Office, key: ApiKey) {
  const quota = await office.store.admissions.quota(key.id, office.clock.now())
  return {
    ...(await reportKey(office, key)),
    windows: { minute: renderWindow(quota.minute), day: renderWindow(quota.day) },
  }
}

/** Holds from the next request; answers in progress end whole. @throws key_not_found */
export const revokeKey = verb(
  z.strictObject({ key: z.string().min(1) }),
  async (office, input): Promise<OperatorKeyRecord> => {
    const { id } = await findKey(office, input.key)
    return reportKey(office, await office.store.keys.revoke(id, office.clock.now()))
  },
)
