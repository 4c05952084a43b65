/** What people do of which one must know of the other: one after the other, those of this process. */
import type { AccountId } from '#domain/id.ts'
import type { OperatorDeps } from './deps.ts'

/** By the store that they change, and the account. */
const turns = new WeakMap<object, Map<AccountId, Promise<unknown>>>()

/** What the operator does waits for nobody. */
export async function inTurn<Value>(
  { store, actor }: OperatorDeps,
  work: () => Promise<Value>,
): Promise<Value> {
  if (actor === undefined) return await work()
  const { accountId } = actor
  const ofStore = turns.get(store) ?? new Map<AccountId, Promise<unknown>>()
  turns.set(store, ofStore)
  const turn = (ofStore.get(accountId) ?? Promise.resolve()).then(work)
  const ended = turn.catch(() => {})
  ofStore.set(accountId, ended)
  try {
    return await turn
  } finally {
    if (ofStore.get(accountId) === ended) ofStore.delete(accountId)
  }
}
