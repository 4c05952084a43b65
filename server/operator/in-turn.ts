/** What people do of which one must know of the other: one after the other, those of this process. */
import type { OperatorDeps } from './deps.ts'

/** By the store that they change. */
const turns = new WeakMap<object, Promise<unknown>>()

/** What the operator does waits for nobody. */
export async function inTurn<Value>(
  { store, actor }: OperatorDeps,
  work: () => Promise<Value>,
): Promise<Value> {
  if (actor === undefined) return await work()
  const turn = (turns.get(store) ?? Promise.resolve()).then(work)
  turns.set(
    store,
    turn.catch(() => {}),
  )
  return await turn
}
