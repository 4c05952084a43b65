/** A case: how a client provokes one error code, and what the response must contain besides. */
import type { Scene } from './scene.ts'
import type { Visitor } from './visitor.ts'

export interface Case {
  readonly what: string
  /** The exact contents of `error.metadata`; when left out, there is none. */
  readonly metadata?: Readonly<Record<string, unknown>>
  /** Null when left out. */
  readonly param?: string
  /** When left out, none of these headers is present. */
  readonly retryAfter?: unknown
  readonly shouldRetry?: 'true' | 'false'
  readonly allow?: string
  readonly connection?: 'close'
  /** The number of requests that the key has had admitted by then; 0 when left out. */
  readonly taken?: number
  /** A charged answer came before the refusal, or runs at the same time. */
  readonly spent?: true
  /** Part of the message. */
  readonly words?: RegExp
  /** What each client does before the fault begins. */
  prepare?(visitor: Visitor): Promise<unknown>
  /** A fault that lasts while all clients send their requests, and that must be ended. */
  trouble?(scene: Scene): Promise<{ release(): Promise<void> }>
  /** Provokes the code; a case with several requests returns the response that is refused. */
  ask(visitor: Visitor): Promise<Response>
}

/** What the contract says of a code (contract §3), and every tested way to get it. */
export interface Row {
  readonly status: number
  readonly type: string
  readonly cases: readonly Case[]
  /** A system tool that these cases need. */
  readonly needs?: string
  /** Opens a gateway of their own for these cases. */
  readonly stage?: () => Promise<Scene>
}

/** A limit's refusal states the limit, its value, what is used, and when it lifts (contract §3). */
export const limitOf = (
  limit: string,
  limit_value: unknown,
  used: unknown,
  resets_at: unknown = null,
) => ({ limit, limit_value, used, resets_at })
