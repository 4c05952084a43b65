-- The limits of a key in one column: JSON of those that are set, so that a further limit needs no column of its own.
ALTER TABLE keys ADD COLUMN limits TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(limits));
UPDATE keys SET limits = json_patch('{}', json_object(
  'rpm', rpm_limit, 'rpd', rpd_limit, 'concurrency', concurrency_limit,
  'dailySpend', daily_spend_nanos, 'monthlySpend', monthly_spend_nanos,
  'endUserRpm', end_user_rpm, 'endUserDailySpend', end_user_daily_nanos,
  'maxOutputTokens', max_output_tokens, 'allowedModels', json(allowed_models)));
ALTER TABLE keys DROP COLUMN rpm_limit;
ALTER TABLE keys DROP COLUMN rpd_limit;
ALTER TABLE keys DROP COLUMN concurrency_limit;
ALTER TABLE keys DROP COLUMN daily_spend_nanos;
ALTER TABLE keys DROP COLUMN monthly_spend_nanos;
ALTER TABLE keys DROP COLUMN end_user_rpm;
ALTER TABLE keys DROP COLUMN end_user_daily_nanos;
ALTER TABLE keys DROP COLUMN max_output_tokens;
ALTER TABLE keys DROP COLUMN allowed_models;
