/** Reads requests of a provisioning key: a new key, changes to a key, a page of the list (contract §5). */
import * as z from 'zod/mini'
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import type { KeyId } from '#domain/id.ts'
import type { KeyRecord } from '#domain/key-report.ts'
import { limitsFields, nameField, timeField } from '#forms/fields.ts'
import { nearest } from '#forms/nearest.ts'
import { readForm } from '#forms/read-form.ts'
import { renderPath } from '../render-path.ts'
import type { JsonBody } from './body.ts'
import { repeatedName } from './repeated-names.ts'

const expiresAt = z.nullable(timeField)

export const issueForm = z.object({
  ...limitsFields,
  name: nameField,
  expires_at: z.optional(expiresAt),
})

export const amendmentForm = z.object({
  ...limitsFields,
  name: z.optional(nameField),
  expires_at: z.optional(expiresAt),
  disabled: z.optional(z.boolean('must be true or false')),
})

export type IssueForm = z.output<typeof issueForm>
export type AmendmentForm = z.output<typeof amendmentForm>

/** Read-only fields of a record, each with the reason or the alternative. */
const READ_ONLY: Readonly<Record<Exclude<keyof KeyRecord, keyof AmendmentForm> | 'key', string>> = {
  object: 'is read-only',
  id: 'is given by the gateway and never changes',
  key: 'is made by the gateway and shown once; the operator rotates it: gatewayctl keys rotate',
  kind: 'is "ordinary" here and never changes; the operator makes provisioning keys: gatewayctl keys create NAME --kind provisioning',
  label: 'is read-only',
  status: 'is read-only; "disabled": true or false stops and restarts a key',
  created_at: 'is read-only',
  updated_at: 'is read-only',
  last_used_at: 'is read-only',
  revoked_at: 'is read-only; a key is revoked by DELETE',
  usage: 'is read-only',
}

/** @throws invalid_request, unknown_parameter */
export async function readIssue(fields: JsonObject): Promise<IssueForm> {
  const { kind, ...stated } = fields
  // `kind: "ordinary"` is accepted, so that the fields of a record can be sent back.
  return await read(issueForm, kind === 'ordinary' ? stated : fields)
}

/** @throws invalid_request, unknown_parameter */
export const readAmendment = (fields: JsonObject): Promise<AmendmentForm> =>
  read(amendmentForm, fields)

async function read<Schema extends z.ZodMiniObject>(
  form: Schema,
  fields: JsonObject,
): Promise<z.output<Schema>> {
  requireKnownFields(fields, Object.keys(form.shape))
  const reading = await readForm(form, fields)
  if (reading.fits) return reading.value
  throw refusal(renderPath(reading.path), reading.message)
}

/** Unknown fields are rejected, because a misspelt limit must not silently mean no limit. */
function requireKnownFields(fields: JsonObject, known: readonly string[]): void {
  for (const name of Object.keys(fields)) {
    if (known.includes(name)) continue
    if (Object.hasOwn(READ_ONLY, name))
      throw refusal(name, READ_ONLY[name as keyof typeof READ_ONLY])
    const meant = nearest(name.slice(0, MAX_NAME_CHARS), known)
    const param = name.slice(0, MAX_NAME_CHARS)
    throw new GatewayError(
      'unknown_parameter',
      `there is no field "${param}"${meant ? `; did you mean "${meant}"?` : ''}`,
      { param },
    )
  }
}

/** Duplicate names are rejected, because the last would silently override an earlier limit. @throws invalid_request */
export function requireUniqueNames(body: JsonBody): void {
  const name = repeatedName(body)
  if (name !== undefined) throw refusal(name, 'is stated more than once')
}

/** The longest name that an error repeats. */
const MAX_NAME_CHARS = 64

const refusal = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_request', `${param}: ${message}`, { param })

export interface KeyListQuery {
  readonly limit: number
  readonly includeRevoked: boolean
  readonly after?: KeyId
}

export const MAX_LISTED = 100
const KEY_ID = /^key_[0-9a-z]{1,64}$/

/** @throws invalid_request */
export function readKeyListQuery(query: Readonly<Record<string, string>>): KeyListQuery {
  const { limit = String(MAX_LISTED), after, include_revoked = 'false' } = query
  if (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > MAX_LISTED) {
    throw refusal('limit', `must be a whole number from 1 to ${MAX_LISTED}`)
  }
  if (include_revoked !== 'true' && include_revoked !== 'false') {
    throw refusal('include_revoked', 'must be true or false')
  }
  if (after !== undefined && !KEY_ID.test(after)) {
    throw refusal('after', 'must be the id of a key, such as last_id of the page before')
  }
  return {
    limit: Number(limit),
    includeRevoked: include_revoked === 'true',
    ...(after !== undefined && { after: after as KeyId }),
  }
}
