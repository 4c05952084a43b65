/** A line of what a provider served, with the price that it was charged by. */
import { type EndedBy, failureCost } from '#domain/activity.ts'
import { HOUR_MS, type Instant, later } from '#domain/clock.ts'
import type { GenerationId, PriceVersionId } from '#domain/id.ts'
import type { UsageSource } from '#domain/ledger.ts'
import type { PriceVersion } from '#domain/model-card.ts'
import { subtractUsd } from '#domain/money.ts'
import type { ServedEntry } from '#domain/reconcile/served-tally.ts'
import type { Usage } from '#domain/usage.ts'
import { toCalls, toFailedAttempts, toImage, toNames } from './activity-row.ts'
import { fromInteger } from './amount.ts'

/** A request is admitted once its body has come, so somewhat later than its id tells. */
export const MAX_QUEUED_MS = HOUR_MS

export interface Line extends Omit<Usage, 'serverCalls'> {
  readonly generationId: GenerationId
  readonly model: string
  readonly provider: string | null
  readonly endedBy: EndedBy
  readonly startedAt: Instant
  readonly admittedAt: Instant
  readonly totalMs: number
  readonly serverCalls: string | null
  readonly usageSource: UsageSource | null
  readonly modifiers: string | null
  readonly imageResolution: string | null
  readonly imageQuality: string | null
  readonly cost: number
  readonly statedCost: number | null
  readonly failedAttempts: string | null
  readonly operatorCost: number
  readonly hold: number | null
  readonly priceVersion: PriceVersionId | null
}

/** Also those that it failed, and those of which nobody knows who had them when the gateway died. */
export const SERVED_LINES = `
  SELECT a.generation_id AS "generationId", a.model, a.provider, a.ended_by AS "endedBy", a.started_at AS "startedAt",
    a.admitted_at AS "admittedAt", a.total_ms AS "totalMs", a.input_tokens AS "inputTokens",
    a.cache_read_tokens AS "cacheReadTokens", a.cache_write_tokens AS "cacheWriteTokens",
    a.cache_write_1h_tokens AS "cacheWrite1hTokens", a.image_input_tokens AS "imageInputTokens",
    a.output_tokens AS "outputTokens", a.reasoning_tokens AS "reasoningTokens",
    a.image_output_tokens AS "imageOutputTokens", a.input_images AS "inputImages", a.output_images AS "outputImages",
    a.search_units AS "searchUnits", a.server_calls AS "serverCalls", a.usage_source AS "usageSource", a.modifiers,
    a.image_resolution AS "imageResolution", a.image_quality AS "imageQuality", a.cost_nanos AS cost,
    a.stated_cost_nanos AS "statedCost", a.failed_attempts AS "failedAttempts",
    a.operator_cost_nanos AS "operatorCost", a.hold_nanos AS hold, l.price_version AS "priceVersion"
  FROM activity AS a LEFT JOIN ledger AS l ON l.id = 'led_' || substr(a.generation_id, 5)
  WHERE a.generation_id >= $from AND a.generation_id < $below
    AND a.admitted AND a.admitted_at >= $since AND a.admitted_at < $until
    AND (a.provider = $provider OR a.failed_attempts IS NOT NULL
      OR a.provider IS NULL AND a.ended_by = 'gateway')`

export type VersionOf = (id: PriceVersionId | null) => PriceVersion | null

export function toEntry(line: Line, versionOf: VersionOf): ServedEntry {
  const { startedAt, totalMs, serverCalls, modifiers, imageResolution, imageQuality } = line
  const failedAttempts = toFailedAttempts(line.failedAttempts)
  return {
    generationId: line.generationId,
    model: line.model,
    provider: line.provider,
    endedBy: line.endedBy,
    admittedAt: line.admittedAt,
    endedAt: later(startedAt, totalMs),
    usage: { ...line, serverCalls: toCalls(serverCalls) },
    usageSource: line.usageSource,
    modifiers: toNames(modifiers),
    image: toImage(imageResolution, imageQuality),
    cost: fromInteger(line.cost),
    statedCost: line.statedCost === null ? null : fromInteger(line.statedCost),
    failedAttempts,
    unchargedCost: subtractUsd(fromInteger(line.operatorCost), failureCost(failedAttempts)),
    hold: line.hold === null ? null : fromInteger(line.hold),
    version: versionOf(line.priceVersion),
  }
}
