/** Ends the leases of notices that a courier of an earlier process had in hand. */
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'

/** The lock on the directory proves that the previous courier is gone, so its leases need not expire first. */
export function endLeases({ database, commit }: Connection): void {
  const held = "state = 'pending' AND lease_until IS NOT NULL"
  const some = statement(database, `SELECT 1 FROM outbox WHERE ${held} LIMIT 1`)
  if (some().all().length === 0) return
  const end = statement(database, `UPDATE outbox SET lease_until = NULL WHERE ${held}`)
  commit.defer(() => {
    end().run()
  })
  commit.flush()
}
