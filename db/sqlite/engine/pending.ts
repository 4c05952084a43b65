/** Pending writes: many share one transaction, and each gets its own result. */
import type { Database } from 'bun:sqlite'
import type { StoreTrouble } from '#domain/errors.ts'
import { troubleOf } from './disk.ts'

/** A write on its way. */
export interface Pending {
  readonly write: (what: never) => void
  /** What `write` takes; the two were given together. */
  what: never
  state: 'waiting' | 'committed' | 'refused' | 'dropped'
  reason: unknown
}

/** Cancels a write that is still waiting, and releases its argument. */
export function drop(pending: Pending): void {
  if (pending.state !== 'waiting') return
  pending.state = 'dropped'
  pending.what = null as never
}

/** The batch without dropped writes. */
export const withoutDropped = (batch: readonly Pending[]): readonly Pending[] =>
  batch.some(isDropped) ? batch.filter((one) => !isDropped(one)) : batch

const isDropped = ({ state }: Pending): boolean => state === 'dropped'

/** Whether it is not committed yet. @throws what it was refused for */
export function isWaiting({ state, reason }: Pending): boolean {
  if (state === 'refused') throw reason
  return state === 'waiting'
}

/** Resolves once it is committed; `over` fires when a transaction is over, however it went. @throws what it was refused for */
export async function whenCommitted(pending: Pending, over: CommitSignal): Promise<true> {
  while (isWaiting(pending)) await over.next()
  return true
}

export interface Closing {
  write(): void
  /** The transaction is over, committed or rolled back: start the next with empty sums. */
  forget(): void
}

export const toPending = <What>(write: (what: What) => void, what: What): Pending => ({
  write,
  what: what as never,
  state: 'waiting',
  reason: null,
})

export function refuse(pending: Pending, reason: unknown): void {
  pending.state = 'refused'
  pending.reason = reason
}

interface Refused {
  readonly batch: readonly Pending[]
  readonly trouble: StoreTrouble
}

/** Commits a batch; what the disk would not take comes back, to be tried again. */
export function commitBatch(group: Group, batch: readonly Pending[]): Refused | null {
  try {
    group.run(batch)
  } catch (error) {
    const trouble = troubleOf(error)
    return trouble === null ? commitEach(group, batch) : { batch, trouble }
  }
  for (const one of batch) one.state = 'committed'
  return null
}

/** Commits each write separately, so that one faulty write does not fail the others. */
function commitEach(group: Group, batch: readonly Pending[]): Refused | null {
  for (const [position, one] of batch.entries()) {
    try {
      group.run([one])
      one.state = 'committed'
    } catch (error) {
      const trouble = troubleOf(error)
      if (trouble !== null) return { batch: batch.slice(position), trouble }
      refuse(one, error)
    }
  }
  return null
}

type Group = ReturnType<typeof prepareGroup>

const nothing = (): void => {}

/** One transaction of many writes, followed by the sums over them. */
export function prepareGroup(database: Database) {
  let closing: Closing = { write: nothing, forget: nothing }

  const transact = database.transaction((batch: readonly Pending[]) => {
    for (const one of batch) one.write(one.what)
    closing.write()
  }).immediate

  return {
    run(batch: readonly Pending[]): void {
      try {
        transact(batch)
      } finally {
        closing.forget()
      }
    },
    atClose(registered: Closing): void {
      closing = registered
    },
  }
}

type CommitSignal = ReturnType<typeof startCommitSignal>

/** One promise for all that wait for the same moment. */
export function startCommitSignal() {
  let waiting: ReturnType<typeof Promise.withResolvers<void>> | null = null
  return {
    /** Resolves when it fires next. */
    next(): Promise<void> {
      waiting ??= Promise.withResolvers()
      return waiting.promise
    },
    fire(): void {
      waiting?.resolve()
      waiting = null
    },
  }
}

/** Deferred writes in order; each is due at the second `takeAged` after it was added. */
export function startDeferred() {
  let fresh: Pending[] = []
  let aged: Pending[] = []
  return {
    add(pending: Pending): void {
      fresh.push(pending)
    },
    /** Takes those that were added before the last call, and answers whether others will be due at the next. */
    takeAged(): { readonly due: readonly Pending[]; readonly isMore: boolean } {
      const due = aged
      aged = fresh
      fresh = []
      return { due, isMore: aged.length > 0 }
    },
    takeAll(): readonly Pending[] {
      const all = [...aged, ...fresh]
      aged = []
      fresh = []
      return all
    },
  }
}
