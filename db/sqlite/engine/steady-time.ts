/** The last time that the gateway believed its clock, in a table of one row. */
import type { Instant } from '#domain/clock.ts'
import type { SteadyTime } from '#domain/steady-clock.ts'
import type { Connection } from './connection.ts'
import { statement } from './statement.ts'

export function createSteadyTime({ database, commit }: Connection): SteadyTime {
  const find = statement<{ at: Instant }>(database, 'SELECT at FROM steady_time')
  const put = statement<unknown, [Instant]>(
    database,
    'REPLACE INTO steady_time (one, at) VALUES (1, ?)',
  )
  return {
    async last() {
      return find().get()?.at ?? null
    },
    async note(at) {
      commit.tryWrite(() => {
        put().run(at)
      })
    },
  }
}
