/** What is told of a charge that has passed a mark, whoever has seen it pass. */
import { type Day, dayOf, dayStart, type Instant, renderDay, renderInstant } from '#domain/clock.ts'
import { draftEvent, type RaisedEvent } from '#domain/event.ts'
import type { AccountId, GenerationId, KeyId } from '#domain/id.ts'
import type { LimitName } from '#domain/limits.ts'
import { renderUsd, type UsdNanos } from '#domain/money.ts'

/** A mark of a ceiling that was passed. */
export interface PassedCeiling {
  readonly limit: LimitName
  readonly ceiling: UsdNanos
  readonly spent: UsdNanos
  readonly percent: number
  /** The first day on which it counts no more. */
  readonly ends: Day
}

export interface NamedKey {
  readonly accountId: AccountId
  readonly id: KeyId
  readonly name: string
}

const factsOf = ({ limit, ceiling, spent, percent, ends }: PassedCeiling) => ({
  limit,
  limit_usd: renderUsd(ceiling),
  used_usd: renderUsd(spent),
  percent,
  resets_at: renderInstant(dayStart(ends)),
})

const keyFacts = ({ accountId, id, name }: NamedKey) => ({
  account_id: accountId,
  key_id: id,
  key_name: name,
})

export const ceilingOfKey = (key: NamedKey, passed: PassedCeiling, at: Instant): RaisedEvent =>
  draftEvent('gateway.key_ceiling', { ...keyFacts(key), ...factsOf(passed) }, at)

export const ceilingOfEndUser = (
  key: NamedKey,
  endUser: string,
  passed: PassedCeiling,
  at: Instant,
): RaisedEvent =>
  draftEvent(
    'gateway.end_user_ceiling',
    { ...keyFacts(key), end_user: endUser, ...factsOf(passed) },
    at,
  )

export const ceilingOfAccount = (
  id: AccountId,
  name: string,
  passed: PassedCeiling,
  at: Instant,
): RaisedEvent =>
  draftEvent(
    'gateway.account_ceiling',
    { account_id: id, account_name: name, ...factsOf(passed) },
    at,
  )

export interface BeyondHold {
  readonly accountId: AccountId
  readonly keyId: KeyId
  readonly generationId: GenerationId
  readonly provider: string | null
  readonly model: string
  readonly held: UsdNanos
  readonly charged: UsdNanos
  readonly at: Instant
}

/** A request that cost more than its hold. */
export const chargedBeyondHold = (charge: BeyondHold): RaisedEvent =>
  draftEvent(
    'gateway.charge_beyond_hold',
    {
      account_id: charge.accountId,
      key_id: charge.keyId,
      generation_id: charge.generationId,
      provider: charge.provider ?? '',
      model: charge.model,
      held_usd: renderUsd(charge.held),
      charged_usd: renderUsd(charge.charged),
      day: renderDay(dayOf(charge.at)),
    },
    charge.at,
  )
