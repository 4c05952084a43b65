/** Numbers for narrow columns, and money in the selected currency. */
import { dollars, NO_MONEY, readRubPerUsd, readUsd, renderRub, toRub } from '#domain/money.ts'

/** "18 204": thousands apart. */
export const count = (value: number): string =>
  String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ' ')

/** At most five characters: "9999", "20k", "1.8M". */
export function brief(value: number): string {
  if (value < 10_000) return String(Math.round(value))
  if (value < 1_000_000) return `${Math.round(value / 1_000)}k`
  return `${(value / 1_000_000).toFixed(value < 10_000_000 ? 1 : 0)}M`
}

/** "0.4s", "48.2s", "12m03s", "3h12m". */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 100) return `${seconds.toFixed(1)}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m${two(seconds % 60)}s`
  return `${Math.floor(minutes / 60)}h${two(minutes % 60)}m`
}

/** "31s", "11h18m", "7d17h": the two largest units. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  if (whole < 60) return `${whole}s`
  if (whole < 3_600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`
  if (whole < 86_400) return `${Math.floor(whole / 3_600)}h${two((whole % 3_600) / 60)}m`
  return `${Math.floor(whole / 86_400)}d${two((whole % 86_400) / 3_600)}h`
}

/** Longer estimates mean nothing. */
const MAX_DAYS = 999

/** How long money lasts: "~7d17h", ">999d". */
export const lasting = (seconds: number): string =>
  seconds > MAX_DAYS * 86_400 ? `>${MAX_DAYS}d` : `~${span(seconds)}`

const two = (value: number): string => String(Math.floor(value)).padStart(2, '0')

export const percent = (value: number | null, none: string): string =>
  value === null ? none : `${value}%`

/** "12:41:07" of an RFC 3339 time. */
export const timeOfDay = (time: string): string => time.slice(11, 19)

export interface Currency {
  readonly name: 'usd' | 'rub'
  readonly rubPerUsd: string
  readonly sign: string
}

/** An amount with its currency sign before ($) or after it (₽); rubles at the current rate. */
export function money(usd: string, currency: Currency, places = 2): string {
  if (currency.name === 'usd') {
    return dollars(figure(usd, currency, places))
  }
  return `${figure(usd, currency, places)} ${currency.sign}`
}

/** The same without the currency sign, for a column whose title has it. */
export function figure(usd: string, { name, rubPerUsd }: Currency, places = 2): string {
  const isNegative = usd.startsWith('-')
  const amount = readUsd(isNegative ? usd.slice(1) : usd) ?? NO_MONEY
  const rate = readRubPerUsd(rubPerUsd)
  const value =
    name === 'rub' && rate !== undefined ? renderRub(toRub(amount, rate)) : Number(amount) / 1e9
  const [whole = '', fraction] = value.toFixed(places).split('.')
  const text = fraction === undefined ? count(Number(whole)) : `${thousands(whole)}.${fraction}`
  return isNegative && Number(value.toFixed(places)) !== 0 ? `-${text}` : text
}

/** The places of a ceiling in a narrow column: none where it is whole or large, else those that tell it from zero. */
export function ceilingPlaces(usd: string): number {
  if (Number.isInteger(Number(usd)) || Number(usd) >= 10) return 0
  const { length } = /\.(\d*?)0*$/.exec(usd)?.[1] ?? ''
  return Math.min(4, Math.max(2, length))
}

const thousands = (whole: string): string => whole.replace(/\B(?=(\d{3})+$)/g, ' ')
