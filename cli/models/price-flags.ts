/** Prices as flags, in dollars per million tokens or per picture. */
import type { Command } from 'commander'
import { usageError } from '../exit.ts'
import { readLimitMoney, readMoney } from '../flags/read-value.ts'

export interface PriceFlags {
  readonly inUsd?: string
  readonly outUsd?: string
  readonly cachedInUsd?: string
  readonly cacheWriteUsd?: string
  readonly imageInUsd?: string
  readonly imageOutUsd?: string
  readonly perImageUsd?: readonly string[]
}

const gather = (price: string, prices: readonly string[] = []): readonly string[] => [
  ...prices,
  price,
]

export const addPriceFlags = (command: Command): Command =>
  command
    .option('--in-usd <price>', 'per million tokens of prompt')
    .option('--out-usd <price>', 'per million tokens of answer')
    .option('--cached-in-usd <price>', 'per million tokens read from a cache, or none')
    .option('--cache-write-usd <price>', 'per million tokens written to a cache, or none')
    .option(
      '--image-in-usd <price>',
      'per million tokens of pictures in the prompt; or none: as --in-usd',
    )
    .option(
      '--image-out-usd <price>',
      'per million tokens of pictures drawn; or none: as --out-usd',
    )
    .option(
      '--per-image-usd <price>',
      'per picture drawn: X, SIZE=X or SIZE/QUALITY=X; repeat it for more; or none',
      gather,
    )

/** The stated prices by their wire names. @throws CommandError 2 */
export function readPriceFlags(flags: PriceFlags) {
  const price = (flag: string, text: string | undefined) =>
    text === undefined ? undefined : readMoney(flag, text)
  // What "none" clears costs what its likes cost.
  const orNone = (flag: string, text: string | undefined) =>
    text === undefined ? undefined : readLimitMoney(flag, text)
  const stated = {
    in_usd: price('--in-usd', flags.inUsd),
    out_usd: price('--out-usd', flags.outUsd),
    cached_in_usd: orNone('--cached-in-usd', flags.cachedInUsd),
    cache_write_usd: orNone('--cache-write-usd', flags.cacheWriteUsd),
    image_in_usd: orNone('--image-in-usd', flags.imageInUsd),
    image_out_usd: orNone('--image-out-usd', flags.imageOutUsd),
    per_image_usd: isNone(flags.perImageUsd) ? [] : flags.perImageUsd?.map(readImagePrice),
  }
  return Object.fromEntries(
    Object.entries(stated).filter(([, value]) => value !== undefined),
  ) as Partial<typeof stated>
}

const isNone = (prices: readonly string[] | undefined): boolean =>
  prices?.length === 1 && prices[0] === 'none'

function readImagePrice(text: string) {
  const match = /^(?:([^=/\s]+)(?:\/([^=/\s]+))?=)?([^=]+)$/.exec(text)
  if (!match) {
    throw usageError(`--per-image-usd must be X, SIZE=X or SIZE/QUALITY=X (got "${text}")`)
  }
  return {
    resolution: match[1] ?? '*',
    quality: match[2] ?? '*',
    usd: readMoney('--per-image-usd', match[3] ?? ''),
  }
}
