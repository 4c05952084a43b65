/** The last time that the gateway believed its clock, in a table of one row. */
import type { Instant } from '#domain/clock.ts'
import type { SteadyTime } from '#domain/steady-clock.ts'
import { type Engine, get } from './statements.ts'

export const createSteadyTime = (engine: Engine): SteadyTime => ({
  async last() {
    const row = await engine.read(() => get<{ at: Instant }>('SELECT at FROM steady_time'))
    return row?.at ?? null
  },
  async note(at) {
    await engine.tryRun(
      'INSERT INTO steady_time (one, at) VALUES (1, $at) ON CONFLICT (one) DO UPDATE SET at = excluded.at',
      { at },
    )
  },
})
