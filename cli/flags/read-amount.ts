/** An amount of money that moves now: dollars, or rubles at the rate of now. */
import { readRubPerUsd, readUsd, renderUsd, type UsdNanos } from '#domain/money.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { call } from '../gateway/operator.ts'
import { tell } from '../terminal/output.ts'
import { readMoney } from './read-value.ts'

const RUBLES = /^(\d{1,12})(?:\.(\d{1,6}))?\s?(?:rub|₽)$/i
const NANOS = 1_000_000_000n

/** Dollars as the verbs read them; "1850rub" is turned into them, rounded once, and said. @throws CommandError 2 */
export async function readAmount(context: Context, what: string, text: string): Promise<string> {
  const match = RUBLES.exec(text)
  if (match === null) return demandKeepable(what, readMoney(what, text), text)
  const [, whole = '0', part = ''] = match
  const micros = BigInt(whole) * 1_000_000n + BigInt(part.padEnd(6, '0'))
  const { rub_per_usd } = await call(context, 'rates.show', {})
  const rate = readRubPerUsd(rub_per_usd)
  if (rate === undefined) throw usageError(`the rate ${rub_per_usd} cannot be read`)
  // Half a nano-dollar is rounded up.
  const dollars = renderUsd(((2n * micros * NANOS + rate) / (2n * rate)) as UsdNanos)
  tell(context, `  ${text} at ${rub_per_usd} is $${dollars}`)
  return demandKeepable(what, dollars, text)
}

/** Before anybody is asked whether to go on. */
function demandKeepable(what: string, dollars: string, text: string): string {
  if (readUsd(dollars) !== undefined) return dollars
  throw usageError(
    `${what} must be dollars such as 20.00, with at most 9 places and up to 9007199, or their worth in rubles (got "${text}")`,
  )
}
