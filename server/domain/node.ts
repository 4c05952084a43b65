/** Nodes: the gateways that share a store, and what each can learn there of the others. */
import type { ActivityEntry } from './activity.ts'
import type { Instant } from './clock.ts'
import type { GatewayError } from './errors.ts'
import type { GenerationId, KeyId } from './id.ts'
import type { Dialect } from './work.ts'

export interface NodeRecord {
  readonly name: string
  /** Silent: it has missed three beats, and is ended by the others unless it beats again within seconds. */
  readonly state: 'alive' | 'silent' | 'ended'
  /** Requests that it has admitted and not settled. */
  readonly in_flight: number
  readonly epoch: string
  readonly version: string
  /** That of its binary; the store's may be newer, while nodes are upgraded one after another. */
  readonly schema: number
  /** By the clock of the store. */
  readonly beat_at: string
  /** How far the clock of its machine is ahead of that of the store, by which it goes. */
  readonly ahead_ms: number
}

/** A request in progress, as the store knows it: what has arrived of its answer is known to its node alone. */
export interface Held {
  readonly generationId: GenerationId
  readonly requestId: string
  readonly keyId: KeyId
  readonly model: string
  readonly endUser: string | null
  readonly surface: Dialect
  readonly session: string | null
  readonly admittedAt: Instant
  readonly node: string
}

/** Lines of the log by when their requests ended, of which it keeps no order. */
export interface EndedQuery {
  readonly endedSince: Instant
  /** Those that arrived before are not looked through. */
  readonly arrivedSince: Instant
  /** And these, whenever they arrived and ended. */
  readonly of: readonly GenerationId[]
  /** But for these. */
  readonly known: { readonly size: number; has(id: GenerationId): boolean }
  readonly most: number
}

/** Of the database server that they share. */
export interface ServerHealth {
  /** Why it takes no writes, where a host was found that is only read from. */
  readonly onlyRead: GatewayError | null
  /** The oldest open transaction, as far as this role may see; null where there is none. */
  readonly oldest: { readonly pid: number; readonly who: string; readonly ms: number } | null
  /** How far the clock of this machine is ahead of the server's. */
  readonly aheadMs: number
  /** "UPDATE on keys": what its role may not do, and has to. */
  readonly lacking: readonly string[]
  /** Whether a commit waits for the disk. */
  readonly isDurable: boolean
  /** Standbys that it waits for besides, as they are set: empty for none. */
  readonly named: string
  /** How many of these there are now. */
  readonly attached: number
}

/** Port of a store that several nodes share. */
export interface Nodes {
  /** In the order of their names. */
  list(): Promise<readonly NodeRecord[]>
  server(): Promise<ServerHealth>
  /** Requests in progress at any of them, the oldest `most`. */
  held(most: number): Promise<readonly Held[]>
  /** In the order in which they ended; of more than `most`, those that arrived last. */
  ended(query: EndedQuery): Promise<readonly ActivityEntry[]>
  /** Has its node end a request; false where none in progress has this id. */
  kill(id: GenerationId, at: Instant): Promise<boolean>
  isHeld(id: GenerationId): Promise<boolean>
  /** `end` is called with each request of this node that somebody wants ended, every second until it has ended. */
  heed(end: (id: GenerationId) => void): void
}
