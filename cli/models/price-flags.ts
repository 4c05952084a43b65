/** Prices as flags, in dollars per million tokens or per image. */

import type { Command } from 'commander'
import { definedIn } from '#domain/stated.ts'
import { suggest } from '#forms/nearest.ts'
import { usageError } from '../exit.ts'
import { collect } from '../flags/collect.ts'
import { readLimitMoney, readMoney } from '../flags/read-value.ts'

export interface PriceFlags {
  readonly inUsd?: string
  readonly outUsd?: string
  readonly cachedInUsd?: string
  readonly cacheWriteUsd?: string
  readonly imageInUsd?: string
  readonly imageOutUsd?: string
  readonly perSearchUnitUsd?: string
  readonly perImageUsd?: readonly string[]
  readonly cacheWrite1hUsd?: string
  readonly serverTools?: readonly string[]
  readonly modifiers?: readonly string[]
}

export const addPriceFlags = (command: Command): Command =>
  command
    .option('--in-usd <price>', 'per million input tokens')
    .option('--out-usd <price>', 'per million output tokens')
    .option('--cached-in-usd <price>', 'per million cached input tokens, or none')
    .option('--cache-write-usd <price>', 'per million cache write tokens, or none')
    .option(
      '--cache-write-1h-usd <price>',
      'per million tokens written to a cache for an hour; none: such marks are refused',
    )
    .option('--image-in-usd <price>', 'per million image input tokens; none: as --in-usd')
    .option('--image-out-usd <price>', 'per million image output tokens; none: as --out-usd')
    .option('--per-search-unit-usd <price>', 'per search unit of a model that ranks documents')
    .option(
      '--per-image-usd <price>',
      'per generated image: X, SIZE=X or SIZE/QUALITY=X; repeatable; or none',
      collect,
    )
    .option(
      '--server-tools <tool=price>',
      "per 1,000 calls of a tool of the vendor's, such as web_search=10; repeatable; or none",
      collect,
    )
    .option(
      '--modifiers <field=value=factor>',
      'factor of the whole price, such as service_tier=priority=2; repeatable; or none',
      collect,
    )

/** The given prices by their API names. @throws CommandError 2 */
export function readPriceFlags(flags: PriceFlags) {
  const price = (flag: string, text: string | undefined) =>
    text === undefined ? undefined : readMoney(flag, text)
  // "none" clears a price: such tokens then cost the same as --in-usd or --out-usd.
  const orNone = (flag: string, text: string | undefined) =>
    text === undefined ? undefined : readLimitMoney(flag, text)
  const stated = {
    in_usd: price('--in-usd', flags.inUsd),
    out_usd: price('--out-usd', flags.outUsd),
    cached_in_usd: orNone('--cached-in-usd', flags.cachedInUsd),
    cache_write_usd: orNone('--cache-write-usd', flags.cacheWriteUsd),
    cache_write_1h_usd: orNone('--cache-write-1h-usd', flags.cacheWrite1hUsd),
    image_in_usd: orNone('--image-in-usd', flags.imageInUsd),
    image_out_usd: orNone('--image-out-usd', flags.imageOutUsd),
    per_search_unit_usd: price('--per-search-unit-usd', flags.perSearchUnitUsd),
    per_image_usd: isNone(flags.perImageUsd) ? [] : flags.perImageUsd?.map(readImagePrice),
    server_tools: readNamed('--server-tools', 'TOOL=PRICE', flags.serverTools),
    modifiers: readNamed('--modifiers', 'FIELD=VALUE=FACTOR', flags.modifiers),
  }
  return definedIn(stated)
}

const isNone = (prices: readonly string[] | undefined): boolean =>
  prices?.length === 1 && prices[0] === 'none'

/** A name is everything before the last `=`. */
function readNamed(flag: string, form: string, texts: readonly string[] | undefined) {
  if (texts === undefined) return undefined
  if (isNone(texts)) return {}
  return Object.fromEntries(
    texts.map((text) => {
      const match = /^(.+)=([^=]+)$/.exec(text)
      if (!match) throw usageError(`${flag} must be ${form} (got "${text}")`)
      const [, name = '', value = ''] = match
      return [name, value]
    }),
  )
}

function readImagePrice(text: string) {
  const match = /^(?:([^=/\s]+)(?:\/([^=/\s]+))?=)?([^=]+)$/.exec(text)
  if (!match) {
    throw usageError(`--per-image-usd must be X, SIZE=X or SIZE/QUALITY=X (got "${text}")`)
  }
  const [, resolution = '*', quality = '*', usd = ''] = match
  demandSize(resolution)
  demandQuality(quality)
  return { resolution, quality, usd: readMoney('--per-image-usd', usd) }
}

/** Sizes and qualities that requests and providers use (OpenAI, Gemini, xAI): a price for any other would never apply. */
const SIZE = /^(?:\d{2,5}x\d{2,5}|512(?:px)?|0\.5K|[1-9][Kk]|auto|\*)$/
const QUALITIES = ['low', 'medium', 'high', 'standard', 'hd', 'auto', '*']

/** `apply` accepts any names. */
const ELSEWHERE =
  'for other names of sizes and qualities, set the price in a file: gatewayctl apply -f FILE'

function demandSize(size: string): void {
  if (SIZE.test(size)) return
  throw usageError(
    `the size of --per-image-usd must be pixels such as 1024x1024, 512, 512px, 0.5K, 1K, 2K, 4K, auto, or * for any (got "${size}")`,
    ELSEWHERE,
  )
}

function demandQuality(quality: string): void {
  if (QUALITIES.includes(quality)) return
  throw usageError(
    `the quality of --per-image-usd must be low, medium, high, standard, hd, auto, or * for any (got "${quality}")${suggest(quality, QUALITIES)}`,
    ELSEWHERE,
  )
}
