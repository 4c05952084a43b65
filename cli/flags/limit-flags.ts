/** The limits of a key as flags, shared by the commands that create or change a key. */
import type { Command } from 'commander'
import { MAX_WINDOW_SLOTS } from '#domain/key.ts'
import type { LimitsRecord } from '#domain/key-report.ts'
import { LIMIT_FLAGS } from '#forms/limit-flags.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { readCeiling } from './read-amount.ts'
import { readLimitCount } from './read-value.ts'

/** The flags of `LIMITS` hold a text. */
export interface LimitFlags {
  readonly [flag: string]: string | boolean | readonly string[] | undefined
  readonly allow?: readonly string[]
  readonly allowAll?: boolean
}

/** A window is a count with a maximum. */
type Kind = 'window' | 'count' | 'ceiling'
type StatedLimit = Exclude<keyof LimitsRecord, 'allowed_models'>

/** How a limit is typed, and what the help says of it. */
const LIMITS: Readonly<Record<StatedLimit, readonly [Kind, help: string]>> = {
  rpm_limit: ['window', 'requests in any minute, or none'],
  rpd_limit: ['window', 'requests in any 24 hours, or none'],
  concurrency_limit: ['count', 'requests in progress at once, or none'],
  daily_spend_limit_usd: ['ceiling', 'spend ceiling of a UTC day: 20, $20 or 1850rub; or none'],
  monthly_spend_limit_usd: ['ceiling', 'spend ceiling of a UTC month, in the same forms'],
  end_user_rpm: ['window', 'requests of each end user in any minute, or none'],
  end_user_daily_usd: ['ceiling', 'spend ceiling of each end user in a UTC day, in the same forms'],
  max_output_tokens: ['count', 'output tokens of one answer, which ends there; or none'],
}

const STATED_LIMITS = Object.keys(LIMITS) as readonly StatedLimit[]

const gather = (mask: string, masks: readonly string[] = []): readonly string[] => [...masks, mask]

/** Adds the flags; `none` lifts a limit. */
export function addLimitFlags(command: Command): Command {
  for (const limit of STATED_LIMITS) {
    const [kind, help] = LIMITS[limit]
    command.option(`--${LIMIT_FLAGS[limit]} <${kind === 'ceiling' ? 'amount' : 'n'}>`, help)
  }
  return command
    .option('--allow <mask>', "a model id, 'provider/*' or '*'; repeatable", gather)
    .option('--allow-all', 'allow every model')
}

/**
 * The given limits by their API names; others are absent. `keys` is the shell text for a hint, null while there is no key.
 * @throws CommandError 2
 */
export async function readLimitFlags(
  context: Context,
  flags: LimitFlags,
  keys: string | null,
): Promise<StatedLimits> {
  if (flags.allow && flags.allowAll) throw usageError('--allow and --allow-all cannot be combined')
  const stated: Record<string, StatedLimits[keyof StatedLimits]> = {}
  for (const limit of STATED_LIMITS) {
    const text = flags[attributeOf(LIMIT_FLAGS[limit])]
    if (typeof text !== 'string') continue
    stated[limit] = await readLimit(context, limit, text, keys)
  }
  if (flags.allowAll) stated['allowed_models'] = null
  else if (flags.allow) stated['allowed_models'] = [...flags.allow]
  return stated
}

export type StatedLimits = {
  -readonly [Limit in keyof LimitsRecord]?: Mutable<LimitsRecord[Limit]>
}
type Mutable<Value> = Value extends readonly string[] ? string[] : Value

async function readLimit(context: Context, limit: StatedLimit, text: string, keys: string | null) {
  const flag = `--${LIMIT_FLAGS[limit]}`
  const [kind] = LIMITS[limit]
  if (kind === 'ceiling') return await readCeiling(context, flag, text)
  const stops = text === '0' && keys !== null
  const hint = stops ? `to stop a key from working: gatewayctl keys revoke ${keys}` : null
  return readLimitCount(flag, text, hint, kind === 'window' ? MAX_WINDOW_SLOTS : undefined)
}

/** `end-user-rpm` as commander names it: `endUserRpm`. */
const attributeOf = (flag: string): string =>
  flag.replace(/-[a-z]/g, (dashed) => dashed.charAt(1).toUpperCase())
