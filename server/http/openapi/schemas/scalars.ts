/** The scalar types of responses: money, times, counts and enumerations, each with a description. */
import { z } from 'zod'

/** Dollars as a decimal string, never a float (contract §1). */
export const usd = (description: string) =>
  z.string().meta({ description, pattern: '^-?\\d+(\\.\\d+)?$', examples: ['5.00'] })

/** Dollars as a number, for compatibility with OpenRouter: for display only. */
export const usdNumber = (description: string) => z.number().describe(`${description}, in dollars`)

export const rub = (description: string) => z.number().describe(`${description}, in rubles`)

/** ISO 8601 in UTC, with `Z` (contract §1). */
export const moment = (description: string) =>
  z.string().meta({ description, format: 'date-time', examples: ['2026-08-23T00:00:00Z'] })

export const unixTime = (description: string) =>
  z.int().min(0).describe(`${description}, in seconds since the Unix epoch`)

export const count = (description: string) => z.int().min(0).describe(description)

export const text = (description: string, example?: string) =>
  z.string().meta({ description, ...(example !== undefined && { examples: [example] }) })

/** An id of the gateway: its prefix, and a time-ordered body (contract §1). */
export const id = <Prefix extends string>(prefix: Prefix, description: string) =>
  z
    .templateLiteral([prefix, z.string().regex(/^[0-9a-z]{26}$/)])
    .meta({ description, examples: [`${prefix}01k3e5q9zzzzzzzzzzzzzzzzzz`] })

/** An enumeration; the type requires a description for each value. */
export const oneOf = <Word extends string>(
  description: string,
  meanings: Readonly<Record<Word, string>>,
) => {
  const words = Object.keys(meanings) as [Word, ...Word[]]
  const list = words.map((word) => `\`${word}\`: ${meanings[word]}`).join('; ')
  return z.enum(words).describe(description === '' ? list : `${description}. ${list}`)
}
