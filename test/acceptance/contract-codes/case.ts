/** A case: how one code is brought about from outside, and what must be told beside it. */
import type { Scene } from './scene.ts'
import type { Visitor } from './visitor.ts'

export interface Case {
  readonly what: string
  /** Exactly what `error.metadata` holds; left out, there is none. */
  readonly metadata?: Readonly<Record<string, unknown>>
  /** Null where it is left out. */
  readonly param?: string
  /** Left out, none of these headers is there. */
  readonly retryAfter?: unknown
  readonly shouldRetry?: 'true' | 'false'
  readonly allow?: string
  readonly connection?: 'close'
  /** Requests that the key has had admitted by then; 0 where it is left out. */
  readonly taken?: number
  /** An answer that is paid for came first, or runs beside it. */
  readonly spent?: true
  /** Part of the message. */
  readonly words?: RegExp
  /** What the visitors do before the trouble begins. */
  prepare?(visitor: Visitor): Promise<unknown>
  /** Trouble that lasts while all of them ask, and that somebody has to end. */
  trouble?(scene: Scene): Promise<{ release(): Promise<void> }>
  /** Brings it about; a case that needs several requests answers the one that is refused. */
  ask(visitor: Visitor): Promise<Response>
}

/** What the contract says of a code (contract §3), and every way to it that is tried. */
export interface Row {
  readonly status: number
  readonly type: string
  readonly cases: readonly Case[]
  /** A tool of the system without which they cannot be brought about. */
  readonly needs?: string
  /** Opens a gateway of their own for them. */
  readonly stage?: () => Promise<Scene>
}

/** Limits that refuse say which they are, their value, what is used, and when they lift (contract §3). */
export const limitOf = (
  limit: string,
  limit_value: unknown,
  used: unknown,
  resets_at: unknown = null,
) => ({ limit, limit_value, used, resets_at })
