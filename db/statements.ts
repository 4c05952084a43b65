/** What is written once for both engines: a change as its statements, which SQLite runs at once and PostgreSQL sends one by one. */
import type { Clock } from '#domain/clock.ts'
import type { Vault } from './vault.ts'

/** By name; what no `$name` of the statement asks for is left alone. */
export type Named = Readonly<Record<string, unknown>>

export interface Statement {
  readonly form: 'all' | 'get' | 'run'
  readonly sql: string
  readonly bindings: Named
}

/** Statements in their order, each answered before the next; at the end what they come to. */
export type Statements<T> = Generator<Statement, T, unknown>

export function* all<Row>(sql: string, bindings: Named = {}): Statements<Row[]> {
  return (yield { form: 'all', sql, bindings }) as Row[]
}

/** The first row. */
export function* get<Row>(sql: string, bindings: Named = {}): Statements<Row | null> {
  return (yield { form: 'get', sql, bindings }) as Row | null
}

/** How many rows it changed. */
export function* run(sql: string, bindings: Named = {}): Statements<number> {
  return (yield { form: 'run', sql, bindings }) as number
}

/** How many rows there are; `from` names the table, and may say which of them. */
export function* count(from: string, bindings: Named = {}): Statements<number> {
  return (yield* get<{ n: number }>(`SELECT count(*) AS n FROM ${from}`, bindings))?.n ?? 0
}

/** What this process has begun to write by now is among what is read. */
export async function readSettled<T>(engine: Engine, statements: () => Statements<T>): Promise<T> {
  await engine.settled()
  return await engine.read(statements)
}

/** What ports that are written once work with. Statements are asked for anew where a transaction is begun again. */
export interface Engine {
  readonly clock: Clock
  /** Null when no master key was given: credentials can then be neither kept nor read. */
  readonly vault: Vault | null
  /** Resolves when what this process has begun to write by now is written; but for lines of the log. */
  settled(): Promise<void>
  read<T>(statements: () => Statements<T>): Promise<T>
  /** One statement that changes rows: how many. */
  run(sql: string, bindings: Named): Promise<number>
  /** One transaction beside those of other nodes. A power cut may lose it in SQLite, where it shares the commit of its turn. */
  write<T>(statements: () => Statements<T>): Promise<T>
  /** The same, one at a time over all nodes. */
  writeInTurn<T>(statements: () => Statements<T>): Promise<T>
  /**
   * A change at somebody's word: one at a time over all nodes, durable before it resolves. `committed` updates what is in memory,
   * before any request can see a difference.
   */
  change<T>(statements: () => Statements<T>, committed?: (result: T) => void): Promise<T>
  /** One transaction beside those of other nodes, whose first statement locks what it is about; durable before it resolves. */
  writeDurably<T>(statements: () => Statements<T>): Promise<T>
  /** One statement that can wait for another day: how many rows it changed, none while SQLite's disk takes no writes. */
  tryRun(sql: string, bindings: Named): Promise<number>
  /** A claim: one at a time over all nodes, tried once; null while SQLite's disk takes no writes. */
  attempt<T>(statements: () => Statements<T>): Promise<T | null>
}
