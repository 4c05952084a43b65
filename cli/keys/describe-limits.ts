/** Limits in one line for people. */
import type { LimitsRecord } from '#domain/key-report.ts'
import { clean } from '../terminal/clean.ts'

/** "300 req/min · no daily request limit · $25.00/day · all models" */
export function describeLimits(limits: LimitsRecord): string {
  const { rpm_limit, rpd_limit, concurrency_limit, allowed_models } = limits
  const { daily_spend_limit_usd, monthly_spend_limit_usd, end_user_rpm, end_user_daily_usd } =
    limits
  const { max_output_tokens } = limits
  return [
    rpm_limit === null ? 'no limit per minute' : `${rpm_limit} req/min`,
    rpd_limit === null ? 'no daily request limit' : `${rpd_limit} req/day`,
    ...(concurrency_limit === null ? [] : [`${concurrency_limit} at once`]),
    daily_spend_limit_usd === null ? 'no daily ceiling' : `$${daily_spend_limit_usd}/day`,
    ...(monthly_spend_limit_usd === null ? [] : [`$${monthly_spend_limit_usd}/month`]),
    ...(end_user_rpm === null ? [] : [`${end_user_rpm} req/min per end user`]),
    ...(end_user_daily_usd === null ? [] : [`$${end_user_daily_usd}/day per end user`]),
    ...(max_output_tokens === null ? [] : [`${max_output_tokens} tokens an answer`]),
    allowed_models === null ? 'all models' : clean(allowed_models.join(', ')) || 'no models',
  ].join(' · ')
}
