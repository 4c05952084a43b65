/** Runs what is written once for both engines: each of a change's statements is sent when the one before is answered. */
import type { Engine, Statements } from '../../statements.ts'
import type { Named } from './bindings.ts'
import type { Database, Sql } from './database.ts'

export async function send<T>(sql: Sql, statements: Statements<T>): Promise<T> {
  let step = statements.next()
  while (!step.done) {
    const { form, sql: text, bindings } = step.value
    step = statements.next(await sql[form](text, bindings as Named))
  }
  return step.value
}

export function engineOf(database: Database): Engine {
  const { clock, vault } = database
  const change: Engine['change'] = async (statements, committed) => {
    const result = await database.change((tx) => send(tx, statements()))
    committed?.(result)
    return result
  }
  const write = <T>(statements: () => Statements<T>): Promise<T> =>
    database.transact((tx) => send(tx, statements()))
  const run: Engine['run'] = (sql, bindings) => database.run(sql, bindings as Named)
  return {
    clock,
    vault,
    settled: () => database.flush(),
    read: (statements) => send(database, statements()),
    run,
    write,
    writeInTurn: change,
    change,
    writeDurably: write,
    tryRun: run,
    // Claims lock no rows: that two nodes never claim the same they owe to a change's lock alone.
    attempt: change,
  }
}
