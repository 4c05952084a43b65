/** The flags of `limits set` and `keys create`, by the names of the limits in the API and in refusals. */
import type { LimitsRecord } from '#domain/key-report.ts'

export const LIMIT_FLAGS: Readonly<Record<keyof LimitsRecord, string>> = {
  rpm_limit: 'rpm',
  rpd_limit: 'rpd',
  concurrency_limit: 'concurrency',
  daily_spend_limit_usd: 'daily-usd',
  monthly_spend_limit_usd: 'monthly-usd',
  end_user_rpm: 'end-user-rpm',
  end_user_daily_usd: 'end-user-daily-usd',
  max_output_tokens: 'max-output-tokens',
  allowed_models: 'allow',
}
