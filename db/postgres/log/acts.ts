/** Acts in the transactions of PostgreSQL's own ports. */
import type { Act, ActChanges } from '#domain/act.ts'
import { noteAct as statements } from '../../log/acts.ts'
import type { Sql } from '../engine/database.ts'
import { send } from '../engine/engine.ts'

/** Writes an act in the transaction of its change. */
export const noteAct = (tx: Sql, act: Act, seen?: ActChanges): Promise<void> =>
  send(tx, statements(act, seen))
