/** The limits of a key as flags, shared by the commands that create or change a key. */
import type { Command } from 'commander'
import { MAX_WINDOW_SLOTS } from '#domain/key.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { readCeiling } from './read-amount.ts'
import { readLimitCount } from './read-value.ts'

export interface LimitFlags {
  readonly rpm?: string
  readonly rpd?: string
  readonly concurrency?: string
  readonly dailyUsd?: string
  readonly monthlyUsd?: string
  readonly endUserRpm?: string
  readonly endUserDailyUsd?: string
  readonly allow?: readonly string[]
  readonly allowAll?: boolean
}

const gather = (mask: string, masks: readonly string[] = []): readonly string[] => [...masks, mask]

/** Adds the flags; `none` lifts a limit. */
export const addLimitFlags = (command: Command): Command =>
  command
    .option('--rpm <n>', 'requests in any minute, or none')
    .option('--rpd <n>', 'requests in any 24 hours, or none')
    .option('--concurrency <n>', 'requests in progress at once, or none')
    .option('--daily-usd <amount>', 'spend ceiling of a UTC day: 20, $20 or 1850rub; or none')
    .option('--monthly-usd <amount>', 'spend ceiling of a UTC month, in the same forms')
    .option('--end-user-rpm <n>', 'requests of each end user in any minute, or none')
    .option(
      '--end-user-daily-usd <amount>',
      'spend ceiling of each end user in a UTC day, in the same forms',
    )
    .option('--allow <mask>', "a model id, 'provider/*' or '*'; repeatable", gather)
    .option('--allow-all', 'allow every model')

/**
 * The given limits by their API names; others are absent. `keys` is the shell text for a hint, null while there is no key.
 * @throws CommandError 2
 */
export async function readLimitFlags(context: Context, flags: LimitFlags, keys: string | null) {
  if (flags.allow && flags.allowAll) throw usageError('--allow and --allow-all cannot be combined')
  const zero = [flags.rpm, flags.rpd, flags.concurrency, flags.endUserRpm].includes('0')
  const hint =
    zero && keys !== null ? `to stop a key from working: gatewayctl keys revoke ${keys}` : null
  const count = (flag: string, text: string | undefined, most?: number) =>
    text === undefined ? undefined : readLimitCount(flag, text, hint, most)
  const money = (flag: string, text: string | undefined) =>
    text === undefined ? undefined : readCeiling(context, flag, text)
  const stated = {
    rpm_limit: count('--rpm', flags.rpm, MAX_WINDOW_SLOTS),
    rpd_limit: count('--rpd', flags.rpd, MAX_WINDOW_SLOTS),
    concurrency_limit: count('--concurrency', flags.concurrency),
    daily_spend_limit_usd: await money('--daily-usd', flags.dailyUsd),
    monthly_spend_limit_usd: await money('--monthly-usd', flags.monthlyUsd),
    end_user_rpm: count('--end-user-rpm', flags.endUserRpm, MAX_WINDOW_SLOTS),
    end_user_daily_usd: await money('--end-user-daily-usd', flags.endUserDailyUsd),
    allowed_models: flags.allowAll ? null : flags.allow && [...flags.allow],
  }
  return Object.fromEntries(
    Object.entries(stated).filter(([, value]) => value !== undefined),
  ) as Partial<typeof stated>
}
