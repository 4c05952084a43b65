/** Runs what is written once for both engines: all of a change's statements in one turn. */
import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite'
import { type Engine, run, type Statements } from '../../statements.ts'
import type { Connection } from './connection.ts'

/** For the transaction that is open. */
export function prepareRunNow(database: Database): <T>(statements: Statements<T>) => T {
  const prepared = new Map<string, Statement<unknown, [SQLQueryBindings]>>()
  const prepare = (sql: string) => {
    const statement = prepared.get(sql) ?? database.prepare<unknown, [SQLQueryBindings]>(sql)
    prepared.set(sql, statement)
    return statement
  }
  return (statements) => {
    let step = statements.next()
    while (!step.done) {
      const { form, sql, bindings } = step.value
      const answer = prepare(sql)[form](bindings as SQLQueryBindings)
      step = statements.next(form === 'run' ? (answer as { changes: number }).changes : answer)
    }
    return step.value
  }
}

export function engineOf({ database, commit, clock, vault }: Connection): Engine {
  const runNow = prepareRunNow(database)
  const write: Engine['write'] = (statements) => commit.enqueue(() => runNow(statements()))
  const writeDurably: Engine['writeDurably'] = (statements) =>
    commit.commitDurably(() => runNow(statements()))
  const attempt: Engine['attempt'] = async <T>(statements: () => Statements<T>) => {
    let answer: T | null = null
    const isDone = commit.tryWrite(() => {
      answer = runNow(statements())
    })
    return isDone ? answer : null
  }
  return {
    clock,
    vault,
    settled: async () => commit.flushAwaited(),
    read: async (statements) => runNow(statements()),
    run: (sql, bindings) => write(() => run(sql, bindings)),
    write,
    writeInTurn: write,
    change: (statements, committed) => commit.commitDurably(() => runNow(statements()), committed),
    writeDurably,
    tryRun: async (sql, bindings) => (await attempt(() => run(sql, bindings))) ?? 0,
    attempt,
  }
}
