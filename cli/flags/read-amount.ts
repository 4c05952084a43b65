/** An amount of money: dollars, or rubles at the rate of now. */
import { readRubPerUsd, readUsd, renderUsd, type UsdNanos } from '#domain/money.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { call } from '../gateway/operator.ts'
import { printNote } from '../terminal/output.ts'
import { readLimitMoney, readMoney } from './read-value.ts'

const RUBLES = /^(\d{1,12})(?:\.(\d{1,6}))?\s?(?:rub|₽)$/i
const NANOS = 1_000_000_000n

/** Dollars as the verbs read them; "1850rub" is converted, rounded once, and the result printed. @throws CommandError 2 */
export async function readAmount(context: Context, what: string, text: string): Promise<string> {
  const dollars = (await fromRubles(context, text, 1n)) ?? readMoney(what, text)
  return demandKeepable(what, dollars, text)
}

/** The same for a ceiling, which has six places; null for `none`. It is stored in dollars. */
export async function readCeiling(
  context: Context,
  flag: string,
  text: string,
): Promise<string | null> {
  return (await fromRubles(context, text, NANOS_OF_A_MILLIONTH)) ?? readLimitMoney(flag, text)
}

const NANOS_OF_A_MILLIONTH = 1_000n

/** Rounded half up to multiples of `stepNanos`; null where the text is no amount of rubles. */
async function fromRubles(
  context: Context,
  text: string,
  stepNanos: bigint,
): Promise<string | null> {
  const match = RUBLES.exec(text)
  if (match === null) return null
  const [, whole = '0', part = ''] = match
  const micros = BigInt(whole) * 1_000_000n + BigInt(part.padEnd(6, '0'))
  const { rub_per_usd } = await call(context, 'rates.show', {})
  const rate = readRubPerUsd(rub_per_usd)
  if (rate === undefined) throw usageError(`the rate ${rub_per_usd} cannot be read`)
  const step = rate * stepNanos
  const dollars = renderUsd((((2n * micros * NANOS + step) / (2n * step)) * stepNanos) as UsdNanos)
  printNote(context, `  ${text} at ${rub_per_usd} is $${dollars}`)
  return dollars
}

/** Checked before any confirmation is asked for. */
function demandKeepable(what: string, dollars: string, text: string): string {
  if (readUsd(dollars) !== undefined) return dollars
  throw usageError(
    `${what} must be dollars such as 20.00, with at most 9 places and up to 9007199, or an amount in rubles (got "${text}")`,
  )
}
