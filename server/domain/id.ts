/** All ids are generated here: a prefix for the type, then a time-ordered ULID. */
import type { Instant } from './clock.ts'

export type AccountId = `acct_${string}`
export type KeyId = `key_${string}`
export type GenerationId = `gen-${string}`
export type EventId = `evt_${string}`
export type EpochId = `epoch_${string}`
export type EntryId = `led_${string}`
export type ActId = `act_${string}`
export type PriceVersionId = `price_${string}`

/** Crockford's base 32 in lower case: no i, l, o, u, which are easily confused. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
/** Two characters at a time, because ids are on the hot path; made with the first id, which many commands do not make. */
const PAIRS: string[] = []

function makePairs(): void {
  for (let i = 0; i < 1024; i++) PAIRS.push(`${ALPHABET[i >> 5]}${ALPHABET[i & 31]}`)
}

const TWO_30 = 2 ** 30
const TWO_40 = 2 ** 40

/** The low 40 bits of `value` in eight characters. */
function eightChars(value: number): string {
  if (PAIRS.length === 0) makePairs()
  const high = Math.floor(value / TWO_30) & 1023
  const low = value % TWO_30
  return `${PAIRS[high]}${PAIRS[low >> 20]}${PAIRS[(low >> 10) & 1023]}${PAIRS[low & 1023]}`
}

/** 50 bits of time, then 80 random bits in two halves. `head` is the id without its last ten bits, which always change. */
let lastAtMs = -1
let timeText = ''
let upper = 0
let lower = 0
let head = ''

/** Within a millisecond, ids count up from a random first one, so that they stay ordered. */
function advance(at: Instant): void {
  if (at === lastAtMs && lower + 1 < TWO_40) {
    lower++
    if (lower % 1024 !== 0) return
  } else if (at === lastAtMs && upper + 1 < TWO_40) {
    upper++
    lower = 0
  } else {
    upper = random40()
    lower = random40()
  }
  if (at !== lastAtMs) {
    lastAtMs = at
    timeText = timeCharsOf(at)
  }
  head = timeText + eightChars(upper) + eightChars(lower).slice(0, 6)
}

const words = new Uint32Array(2)

function random40(): number {
  crypto.getRandomValues(words)
  return ((words[0] ?? 0) & 0xff) * 2 ** 32 + (words[1] ?? 0)
}

function timeCharsOf(at: number): string {
  const low = eightChars(at % TWO_40)
  return `${PAIRS[Math.floor(at / TWO_40)]}${low}`
}

const TIME_CHARS = 10

const readTime = (idBody: string): Instant =>
  [...idBody.slice(0, TIME_CHARS)].reduce(
    (ms, one) => ms * 32 + ALPHABET.indexOf(one),
    0,
  ) as Instant

function mint<Prefix extends string>(prefix: Prefix, at: Instant): `${Prefix}${string}` {
  advance(at)
  return `${prefix}${head}${PAIRS[lower % 1024]}`
}

export const newAccountId = (at: Instant): AccountId => mint('acct_', at)
export const newKeyId = (at: Instant): KeyId => mint('key_', at)
export const newGenerationId = (at: Instant): GenerationId => mint('gen-', at)
const GENERATION_ID = /^gen-[0-9a-hjkmnp-tv-z]{26}$/
export const isGenerationId = (text: string): text is GenerationId => GENERATION_ID.test(text)
/** A lower bound: ids of generations that arrived at `at` or later sort after it, earlier ones before it. */
export const generationsFrom = (at: Instant): GenerationId => `gen-${timeCharsOf(Math.max(0, at))}`
/** The instant that a generation arrived at. */
export const generationArrivedAt = (id: GenerationId): Instant => readTime(id.slice('gen-'.length))
const ENTRY_ID = /^led_[0-9a-hjkmnp-tv-z]{26}$/
export const isEntryId = (text: string): text is EntryId => ENTRY_ID.test(text)
/** The same for ledger entries; a charge has the instant of its request's arrival. */
export const entriesFrom = (at: Instant): EntryId => `led_${timeCharsOf(Math.max(0, at))}`
export const newEventId = (at: Instant): EventId => mint('evt_', at)
export const newEpochId = (at: Instant): EpochId => mint('epoch_', at)
export const newEntryId = (at: Instant): EntryId => mint('led_', at)
/** The same for notices. */
export const eventsFrom = (at: Instant): EventId => `evt_${timeCharsOf(Math.max(0, at))}`
/** A generation's charge has the same id body, so that there can be only one. */
export const chargeEntryId = (id: GenerationId): EntryId => `led_${id.slice('gen-'.length)}`
export const newPriceVersionId = (at: Instant): PriceVersionId => mint('price_', at)
/** The instant that a price version was set at. */
export const priceVersionSetAt = (id: PriceVersionId): Instant =>
  readTime(id.slice('price_'.length))
export const newActId = (at: Instant): ActId => mint('act_', at)
export const newRequestId = (at: Instant): string => mint('req_', at)
