/** Rotates a key's secret; its id, limits, counters and log entries stay (contract §5). */
import * as z from 'zod/mini'
import { later, renderInstant } from '#domain/clock.ts'
import { labelOf, newSecret } from '#domain/secret.ts'
import { scopeField, textField } from '#forms/fields.ts'
import { requireAllowed } from './allowance.ts'
import { findKey } from './find-key.ts'
import type { IssuedKeyRecord } from './keys.ts'
import { reportKey } from './list-keys.ts'
import { mutation } from './verb.ts'

const DAY_SECONDS = 86_400
/** An unlimited grace period would make the rotation pointless. */
const MAX_GRACE_SECONDS = 365 * DAY_SECONDS
const GRACE = `must be whole seconds, at most ${MAX_GRACE_SECONDS} (365 days)`

export interface RotatedKeyRecord extends IssuedKeyRecord {
  /** Until when earlier secrets remain valid; null when they are invalid at once. */
  readonly earlier_secrets_until: string | null
}

/** The answer contains the new secret, only this once. @throws account_not_found, key_not_found, key_revoked */
export const rotateKey = mutation(
  'keys.rotate',
  z.strictObject({
    account: scopeField,
    key: textField,
    /** How long earlier secrets remain valid; 0 invalidates them at once. */
    grace_seconds: z._default(
      z.int(GRACE).check(z.minimum(0, GRACE), z.maximum(MAX_GRACE_SECONDS, GRACE)),
      DAY_SECONDS,
    ),
  }),
  async (deps, { account, key: text, grace_seconds }, act): Promise<RotatedKeyRecord> => {
    const { store, clock } = deps
    const at = clock.now()
    const { id, limits } = await findKey(deps, text, account)
    await requireAllowed(deps, limits)
    const secret = newSecret()
    const until = grace_seconds === 0 ? null : later(at, grace_seconds * 1_000)
    const earlier_secrets_until = renderInstant(until)
    const rotated = act(id, { label: labelOf(secret), earlier_secrets_until })
    const key = await store.keys.rotate(id, secret, until, rotated)
    return {
      ...(await reportKey(deps, key)),
      key: secret,
      warnings: [],
      earlier_secrets_until,
    }
  },
)
