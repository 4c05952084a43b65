/** Edits a key's name, note, expiry and whether it is disabled. */

import * as z from 'zod/mini'
import { renderInstant } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { definedIn } from '#domain/stated.ts'
import {
  nameField,
  noteField,
  requireFuture,
  scopeField,
  textField,
  timeField,
} from '#forms/fields.ts'
import { nameWarnings } from '#forms/key-warnings.ts'
import { requireAllowed } from './allowance.ts'
import { findKey } from './find-key.ts'
import { type OperatorKeyRecord, reportKey } from './list-keys.ts'
import { mutation } from './verb.ts'

export interface KeyChange {
  readonly field: 'name' | 'note' | 'disabled' | 'expires_at'
  readonly from: string | boolean | null
  readonly to: string | boolean | null
}

export interface EditedKeyRecord extends OperatorKeyRecord {
  readonly changes: readonly KeyChange[]
  readonly warnings: readonly string[]
}

/** Absent fields stay unchanged. Takes effect with the next request. @throws account_not_found, key_not_found, key_revoked */
export const editKey = mutation(
  'keys.edit',
  z.strictObject({
    account: scopeField,
    key: textField,
    name: z.optional(nameField),
    /** Null removes the note. */
    note: z.optional(z.nullable(noteField)),
    disabled: z.optional(z.boolean()),
    /** Null is never. */
    expires_at: z.optional(z.nullable(timeField)),
  }),
  async (
    deps,
    { account, key: text, name, note, disabled, expires_at },
    act,
  ): Promise<EditedKeyRecord> => {
    const { store, clock } = deps
    const found = await findKey(deps, text, account)
    if (disabled === false) await requireAllowed(deps, found.limits)
    const renamed = name !== undefined && name !== found.name
    const warnings = renamed ? await nameWarnings(store, name) : []
    const { before, after } = await store.keys.amend(
      found.id,
      definedIn({
        name,
        note,
        disabled,
        expiresAt: expires_at === undefined ? undefined : requireFuture(expires_at, clock.now()),
      }),
      act(found.id),
    )
    return { ...(await reportKey(deps, after)), changes: changesBetween(before, after), warnings }
  },
)

const fieldsOf = ({ name, note, disabledAt, expiresAt }: ApiKey) => ({
  name,
  note,
  disabled: disabledAt !== null,
  expires_at: renderInstant(expiresAt),
})

function changesBetween(before: ApiKey, after: ApiKey): readonly KeyChange[] {
  const from = fieldsOf(before)
  const to = fieldsOf(after)
  return (Object.keys(to) as KeyChange['field'][])
    .filter((field) => from[field] !== to[field])
    .map((field) => ({ field, from: from[field], to: to[field] }))
}
