/** Every id is minted here by the business layer: a prefix that names its noun, then a time-ordered ULID body. */
import type { Instant } from './clock.ts'

export type AccountId = `acct_${string}`
export type KeyId = `key_${string}`
export type GenerationId = `gen-${string}`
export type EventId = `evt_${string}`
export type EntryId = `led_${string}`
export type PriceVersionId = `price_${string}`

/** Crockford's base 32 in lower case: no i, l, o, u, so that an id survives being read aloud. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const TIME_CHARS = 10
const RANDOM_BYTES = 10

let lastTimeMs = -1
let lastTimeText = ''

function timeText(at: Instant): string {
  if (at === lastTimeMs) return lastTimeText
  let rest: number = at
  let text = ''
  for (let i = 0; i < TIME_CHARS; i++) {
    text = ALPHABET[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  lastTimeMs = at
  lastTimeText = text
  return text
}

const random = new Uint8Array(RANDOM_BYTES)
let randomDrawnAtMs = -1

/** Ids minted in a row for one millisecond count up, so that "newest first" holds within it too. */
function draw(at: Instant): void {
  if (at === randomDrawnAtMs && countUp()) return
  crypto.getRandomValues(random)
  randomDrawnAtMs = at
}

/** The next of 2^80 bodies; false when the last has been used. */
function countUp(): boolean {
  for (let i = RANDOM_BYTES - 1; i >= 0; i--) {
    const byte = ((random[i] ?? 0) + 1) & 0xff
    random[i] = byte
    if (byte !== 0) return true
  }
  return false
}

/** 80 bits in 16 characters: five bytes make eight characters. */
function bodyText(at: Instant): string {
  draw(at)
  let text = ''
  let bits = 0
  let held = 0
  for (const byte of random) {
    held = (held << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += ALPHABET[(held >> bits) & 31]
    }
    held &= (1 << bits) - 1
  }
  return text
}

const ulid = (at: Instant): string => timeText(at) + bodyText(at)

export const newAccountId = (at: Instant): AccountId => `acct_${ulid(at)}`
export const newKeyId = (at: Instant): KeyId => `key_${ulid(at)}`
export const newGenerationId = (at: Instant): GenerationId => `gen-${ulid(at)}`
export const newEventId = (at: Instant): EventId => `evt_${ulid(at)}`
export const newEntryId = (at: Instant): EntryId => `led_${ulid(at)}`
/** The entry that charges a generation shares the body of its id: there can be only one. */
export const chargeEntryId = (id: GenerationId): EntryId => `led_${id.slice('gen-'.length)}`
export const newPriceVersionId = (at: Instant): PriceVersionId => `price_${ulid(at)}`
export const newRequestId = (at: Instant): string => `req_${ulid(at)}`
