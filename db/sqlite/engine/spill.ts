/** Spills sums from memory to a table when they become many. */
import { nextTurn } from '#runtime/next-turn.ts'
import { SLICE_ROWS } from './slices.ts'

/** Some megabytes. Rows of one time come together, so that few sums are put down more than once. */
export const MAX_SUMS_IN_MEMORY = 20_000

/** Writes each sum, then clears the map. */
export async function spill<Sum>(
  sums: Map<string, Sum>,
  put: (sum: Sum) => unknown,
): Promise<void> {
  let rows = 0
  for (const sum of sums.values()) {
    put(sum)
    if (++rows % SLICE_ROWS === 0) await nextTurn()
  }
  sums.clear()
}
