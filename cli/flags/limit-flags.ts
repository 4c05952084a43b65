/** The limits of a key as flags, shared by the commands that create or change a key. */

import type { Command } from 'commander'
import { MAX_WINDOW_SLOTS } from '#domain/key.ts'
import {
  type DeclaredLimit,
  LIMITS,
  type LimitName,
  type LimitsRecord,
  type Unit,
} from '#domain/limits.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { collect } from './collect.ts'
import { readCeiling } from './read-amount.ts'
import { readLimitCount } from './read-value.ts'

/** The flags of `LIMITS` hold a text. */
export interface LimitFlags {
  readonly [flag: string]: string | boolean | readonly string[] | undefined
  readonly allow?: readonly string[]
  readonly allowAll?: boolean
}

type StatedLimit = Exclude<LimitName, 'allowed_models'>

const STATED_LIMITS = LIMITS.filter(
  (one): one is DeclaredLimit & { readonly name: StatedLimit } => one.unit !== 'masks',
)

/** How each unit is typed. */
const TYPED = {
  slots: ['<n>', 'or none'],
  count: ['<n>', 'or none'],
  usd: ['<amount>', 'as 20, $20 or 1850rub; or none'],
  masks: ['<mask>', ''],
} as const

/** Adds the flags, of an account only those that it may have; `none` lifts a limit. */
export function addLimitFlags(command: Command, of: 'key' | 'account' = 'key'): Command {
  for (const { flag, unit, about, isOfKey = false } of STATED_LIMITS) {
    if (isOfKey && of === 'account') continue
    const [value, forms] = TYPED[unit]
    command.option(`--${flag} ${value}`, `${about.replaceAll('`', '').toLowerCase()}, ${forms}`)
  }
  return command
    .option('--allow <mask>', "a model id, 'provider/*' or '*'; repeatable", collect)
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
  for (const { name, flag, unit } of STATED_LIMITS) {
    const text = flags[attributeOf(flag)]
    if (typeof text !== 'string') continue
    stated[name] = await readLimit(context, `--${flag}`, unit, text, keys)
  }
  if (flags.allowAll) stated['allowed_models'] = null
  else if (flags.allow) stated['allowed_models'] = [...flags.allow]
  return stated
}

export type StatedLimits = {
  -readonly [Name in LimitName]?: Mutable<LimitsRecord[Name]>
}
type Mutable<Value> = Value extends readonly string[] ? string[] : Value

async function readLimit(
  context: Context,
  flag: string,
  unit: Unit,
  text: string,
  keys: string | null,
) {
  if (unit === 'usd') return await readCeiling(context, flag, text)
  const stops = text === '0' && keys !== null
  const hint = stops ? `to stop a key from working: gatewayctl keys revoke ${keys}` : null
  return readLimitCount(flag, text, hint, unit === 'slots' ? MAX_WINDOW_SLOTS : undefined)
}

/** `end-user-rpm` as commander names it: `endUserRpm`. */
const attributeOf = (flag: string): string =>
  flag.replace(/-[a-z]/g, (dashed) => dashed.charAt(1).toUpperCase())
