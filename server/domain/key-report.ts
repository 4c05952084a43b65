/** The flat record of a key, as HTTP and `--json` both show it (contract §5). */
import { type ActChanges, type Amended, changesBetween } from './act.ts'
import type { Admissions, KeySpending } from './admission.ts'
import { type Instant, renderInstant } from './clock.ts'
import { type ApiKey, type KeyStatus, keyStatus } from './key.ts'
import { type LimitsRecord, renderLimits } from './limits.ts'
import { renderUsd } from './money.ts'
import { statedIn } from './stated.ts'
import { NO_QUOTA, type WindowReadings } from './window.ts'

export interface KeyRecord extends LimitsRecord {
  readonly object: 'api_key'
  readonly id: string
  readonly name: string
  readonly kind: string
  readonly label: string
  readonly status: KeyStatus
  readonly created_at: string
  readonly updated_at: string
  readonly last_used_at: string | null
  readonly expires_at: string | null
  readonly revoked_at: string | null
  readonly usage: {
    readonly requests_in_progress: number
    readonly spend_day_usd: string
    readonly spend_month_usd: string
  }
}

/** The changeable fields of a key, as the log of acts shows them. */
const keyFacts = (key: ApiKey) => ({
  name: key.name,
  note: key.note,
  ...renderLimits(key.limits),
  disabled: key.disabledAt !== null,
  expires_at: renderInstant(key.expiresAt),
})

/** What an act of issuing a key says. */
export const describeIssue = (key: ApiKey): ActChanges => ({
  kind: key.kind,
  label: key.label,
  ...statedIn(keyFacts(key)),
})

/** What an act of amending a key says; empty where nothing changed. */
export const describeAmendment = ({ before, after }: Amended<ApiKey>): ActChanges =>
  changesBetween(keyFacts(before), keyFacts(after))

/** What an act of revoking a key says. */
export const describeRevocation = ({ name }: ApiKey): ActChanges => ({ name, status: 'revoked' })

/** Each key with what is spent of it, read in one go. */
export async function withSpending(
  admissions: Pick<Admissions, 'spending'>,
  keys: readonly ApiKey[],
  at: Instant,
): Promise<readonly (readonly [ApiKey, KeySpending])[]> {
  const read = await admissions.spending(
    keys.map(({ id }) => id),
    at,
  )
  return keys.map((key, place) => [key, read[place] as KeySpending])
}

/** The same, and with what its windows have left. */
export async function withUse(
  admissions: Pick<Admissions, 'spending' | 'quota'>,
  keys: readonly ApiKey[],
  at: Instant,
): Promise<readonly (readonly [ApiKey, KeySpending, WindowReadings])[]> {
  const spent = await withSpending(admissions, keys, at)
  const quotas = await admissions.quota(
    keys.map(({ id }) => id),
    at,
  )
  return spent.map(([key, spending], place) => [key, spending, quotas[place] ?? NO_QUOTA])
}

export const renderKey = (key: ApiKey, usage: KeySpending, at: Instant): KeyRecord => ({
  object: 'api_key',
  id: key.id,
  name: key.name,
  kind: key.kind,
  label: key.label,
  ...renderLimits(key.limits),
  status: keyStatus(key, at),
  created_at: renderInstant(key.createdAt),
  updated_at: renderInstant(key.updatedAt),
  last_used_at: renderInstant(key.lastUsedAt),
  expires_at: renderInstant(key.expiresAt),
  revoked_at: renderInstant(key.revokedAt),
  usage: {
    requests_in_progress: usage.requestsInProgress,
    spend_day_usd: renderUsd(usage.spendDay),
    spend_month_usd: renderUsd(usage.spendMonth),
  },
})
