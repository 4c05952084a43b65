/**
 * Bounds the memory of request bodies and of answers that wait for their reader: for each key, and in all. A body is counted
 * before it is read, from its Content-Length or as it comes, until its answer begins; an answer while it is being sent.
 */
import { GatewayError } from '#domain/errors.ts'
import type { KeyId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'

const MEBIBYTE = 1024 * 1024
/** A body is in memory as it came and as the values parsed from it. */
const COPIES = 2
/** What a longer body or answer may take of the budget: the rest is for short ones, so that chats pass beside large images. */
const LONG_BYTES = 64 * 1024
const LONG_SHARE = 0.75
/** What one key may take, so that it cannot starve the others. */
const KEY_SHARE = 0.5
const RETRY_SECONDS = 1

/** The smallest budget in which a key can send one body of the maximum size. */
export const MIN_BUDGET_BYTES = 192 * MEBIBYTE

/** What the requests of one key take together. */
interface Share {
  bytes: number
}

export class ByteBudget {
  private readonly totalBytes: number
  /** Of every key that ever asked: a small record that stays, so that no request adds and removes one. */
  private readonly shares = new Map<KeyId, Share>()
  private used = 0

  constructor(totalBytes: number) {
    this.totalBytes = totalBytes
  }

  /** Of every key at most its share is counted, so that a key beyond it takes nothing from the others. */
  get usedBytes(): number {
    return this.used
  }

  /** What a request of this key takes; nothing at first. */
  forRequest(key: ApiKey): TakenBytes {
    let share = this.shares.get(key.id)
    if (share === undefined) {
      share = { bytes: 0 }
      this.shares.set(key.id, share)
    }
    return new TakenBytes(this, key, share)
  }

  /** For a request that holds `taken` bytes and takes `bytes` more. @throws concurrency_limit_exceeded, gateway_overloaded */
  require(key: ApiKey, share: Share, taken: number, bytes: number): void {
    const part = taken + bytes > LONG_BYTES * COPIES ? LONG_SHARE : 1
    const keyLimit = this.totalBytes * KEY_SHARE * part
    if (share.bytes + bytes > keyLimit) throw keyIsFull(key, bytes, share.bytes, keyLimit)
    const limit = this.totalBytes * part
    if (this.used + bytes > limit) throw isFull(bytes, this.used, limit)
  }

  change(share: Share, bytes: number): void {
    const most = this.totalBytes * KEY_SHARE
    const before = Math.min(share.bytes, most)
    share.bytes += bytes
    this.used += Math.min(share.bytes, most) - before
  }
}

/** The bytes that one request takes. A class, because every request has one. */
export class TakenBytes {
  private readonly budget: ByteBudget
  private readonly key: ApiKey
  private readonly share: Share
  private bytes = 0

  constructor(budget: ByteBudget, key: ApiKey, share: Share) {
    this.budget = budget
    this.key = key
    this.share = share
  }

  /** Adds a body, or a part of one, that is about to be read. @throws concurrency_limit_exceeded, gateway_overloaded */
  takeBody(bytes: number): void {
    this.take(bytes * COPIES)
  }

  /** @throws concurrency_limit_exceeded, gateway_overloaded */
  take(bytes: number): void {
    this.budget.require(this.key, this.share, this.bytes, bytes)
    this.set(this.bytes + bytes)
  }

  /** The body is here, a text that takes so many bytes of memory; it is parsed, or may be. */
  arrived(textBytes: number): void {
    this.set(textBytes * COPIES)
  }

  /** Its text is not needed any more; the parsed values still are. */
  dropBody(): void {
    this.set(this.bytes / COPIES)
  }

  /** Replaces the count; never refused, for memory that is taken already. */
  set(bytes: number): void {
    if (bytes === this.bytes) return
    this.budget.change(this.share, bytes - this.bytes)
    this.bytes = bytes
  }

  /** More memory is taken; never refused. */
  add(bytes: number): void {
    this.set(this.bytes + bytes)
  }

  /** Gives everything back; harmless when repeated. */
  release(): void {
    this.set(0)
  }
}

const WHAT = 'unfinished bodies, requests not answered yet and answers not read yet'
const inMebibytes = (bytes: number): string => (bytes / MEBIBYTE).toFixed(1)

const keyIsFull = ({ name }: ApiKey, bytes: number, used: number, limit: number): GatewayError =>
  new GatewayError(
    'concurrency_limit_exceeded',
    `key ${name} holds ${inMebibytes(used)} of ${inMebibytes(limit)} MiB in ${WHAT}, and this request would take ${inMebibytes(bytes)} MiB more; ask again when one of them has ended, or have the operator raise memory_budget_mib`,
    toDetails('key_memory_bytes', used, limit),
  )

const isFull = (bytes: number, used: number, limit: number): GatewayError =>
  new GatewayError(
    'gateway_overloaded',
    `the gateway holds ${inMebibytes(used)} of ${inMebibytes(limit)} MiB in ${WHAT}, and this request would take ${inMebibytes(bytes)} MiB more; ask again in a moment, or have the operator raise memory_budget_mib`,
    toDetails('memory_bytes', used, limit),
  )

const toDetails = (limit: string, used: number, limitValue: number) => ({
  retryAfterSeconds: RETRY_SECONDS,
  metadata: { limit, limit_value: limitValue, used, resets_at: null },
})
