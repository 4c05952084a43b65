/** Acts: what operators changed, when and who; append-only, as the ledger is. */
import type { Instant } from './clock.ts'
import { type ActId, newActId } from './id.ts'

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

/** The changed fields and their values; never a secret, never a credential. */
export type ActChanges = { readonly [field: string]: Json }

export interface Act {
  readonly id: ActId
  readonly at: Instant
  /** The operator's account on the machine, "uid 1000 (ann)", the id of a provisioning key, or a person of the cabinet. */
  readonly who: string
  /** "limits.set" */
  readonly verb: string
  /** The id or the name of what was changed; null where that is the whole gateway. */
  readonly target: string | null
  readonly changed: ActChanges
}

/** What an act changed; `draftAct` adds the rest. */
type ActFacts = Pick<Act, 'target' | 'changed'>

/** What an amendment found and what it left, as the act saw both. */
export interface Amended<Noun> {
  readonly before: Noun
  readonly after: Noun
}

export interface ActQuery {
  readonly since?: Instant
  /** Before then. */
  readonly until?: Instant
  /** Only these: "backup". */
  readonly verb?: string
  /** Only verbs of these nouns: "users", "accounts.members". */
  readonly nouns?: readonly string[]
  readonly target?: string
  /** Only acts older than this one: the last of the page before. */
  readonly before?: ActId
  readonly limit: number
}

/**
 * Port: the log of acts. A method of any port that changes something at somebody's word takes the act as an argument
 * and writes it in the transaction of the change, or neither; `changed` then gains what only that
 * transaction sees (the values before). An act without changes is not written.
 */
export interface Acts {
  /** For what changes nothing in the store: a backup, a trial mail, the end of a request. Durable before it resolves. */
  note(act: Act): Promise<void>
  /** Newest first. */
  list(query: ActQuery): Promise<readonly Act[]>
}

export const draftAct = (
  at: Instant,
  who: string,
  verb: string,
  { target, changed }: ActFacts,
): Act => ({ id: newActId(at), at, who, verb, target, changed })

/** The fields that differ, each from what to what. */
export const changesBetween = (before: ActChanges, after: ActChanges): ActChanges =>
  Object.fromEntries(
    Object.entries(after)
      .filter(([field, to]) => JSON.stringify(before[field] ?? null) !== JSON.stringify(to))
      .map(([field, to]) => [field, { from: before[field] ?? null, to }]),
  )
