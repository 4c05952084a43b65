/** Group commit: everything written in one turn of the event loop goes to the database in one transaction. */
import type { Database } from 'bun:sqlite'
import type { StoreTrouble } from '#domain/store.ts'
import { type Disk, NO_DISK, troubleOf, unavailable } from './disk.ts'
import type { LogSync } from './log-sync.ts'
import {
  type Closing,
  commitBatch,
  type Pending,
  prepareGroup,
  refuse,
  startCommitSignal,
  startDeferred,
  toPending,
  whenCommitted,
  withoutDropped,
} from './pending.ts'
import { toStoreError } from './translate-errors.ts'
import { type Trouble, watchTrouble } from './trouble.ts'

export interface GroupCommit {
  /** Runs `write` in the next transaction and resolves once that is committed. */
  enqueue(write: () => void): Promise<void>
  /** The same for the path of a request, which makes neither a closure nor a promise for it: `write` gets what it needs. */
  push<What>(write: (what: What) => void, what: What): Pending
  /** Resolves once it is; a commit that the disk refused is waited for. @throws what it was refused for */
  committed(pending: Pending): Promise<true>
  /** Commits what is awaited, now: for whoever has no company to wait for. */
  endTurn(): void
  /** Runs `write` within a tenth of a second, or with the next `flush`: for what nobody waits for. */
  defer(write: () => void): Pending
  /** What is dropped before is not written. */
  defer<What>(write: (what: What) => void, what: What): Pending
  /** Commits what is pending, now: call it before reading what a pending write may have changed. */
  flush(): void
  /**
   * Runs an operator's act in a transaction of its own and resolves once it is on the disk. `committed` brings what is
   * kept in memory up to date in the same turn, before any request can see the difference.
   */
  commitDurably<T>(write: () => T, committed?: (result: T) => void): Promise<T>
  /**
   * Runs `write` in a transaction of its own, now, at best: false when the disk would not take it, and then it is not tried
   * again. Nobody else's write fails with it.
   */
  tryWrite(write: () => void): boolean
  /** Registers what every transaction writes last: sums of what its writes added up. */
  atClose(closing: Closing): void
  /** Resolves once everything committed so far is on the disk. */
  synced(): Promise<void>
  /** False while the last commit failed (disk full, say). */
  readonly writable: boolean
  /**
   * Why nothing may be begun now, or null: the last commit failed, there is too little room left, or, where no commit has
   * told for a second, a write that changes nothing fails. Found out once a second at most.
   */
  trouble(): StoreTrouble | null
  close(): void
}

/** How soon a commit that failed is tried again. */
const RETRY_MS = 250
/** What nobody waits for is written at this age, and at twice this at the latest: what it is about may be over before. */
const DEFER_MS = 50

const NOTHING: readonly Pending[] = []

/** Starts the committer of one connection. */
export function startGroupCommit(
  database: Database,
  logSync: LogSync,
  disk: Disk = NO_DISK,
): GroupCommit {
  let awaited: Pending[] = []
  let turn: ReturnType<typeof setImmediate> | null = null
  let timer: ReturnType<typeof setTimeout> | null = null
  let retry: ReturnType<typeof setTimeout> | null = null
  let closed = false

  const group = prepareGroup(database)
  const trouble = watchTrouble(database, disk)
  const commitSignal = startCommitSignal()
  const deferred = startDeferred()

  const commit = (batch: readonly Pending[]): void => {
    if (batch.length === 0) return
    const refused = commitBatch(group, batch)
    trouble.report(refused?.trouble ?? null)
    if (refused?.trouble === 'damaged') {
      // Trying again is in vain, and whoever waits must not wait for ever.
      for (const one of refused.batch) refuse(one, unavailable('damaged'))
    } else if (refused) {
      awaited = [...refused.batch, ...awaited]
      retry ??= setTimeout(flush, RETRY_MS)
    }
    logSync.dirty()
    // Every waiter looks what became of its own write; one that is still pending waits for the next transaction.
    commitSignal.fire()
  }

  const push = <What>(write: (what: What) => void, what: What): Pending => {
    if (closed) throw unavailable()
    const pending = toPending(write, what)
    awaited.push(pending)
    if (trouble.failure !== null) retry ??= setTimeout(flush, RETRY_MS)
    else turn ??= setImmediate(endTurn)
    return pending
  }

  const commitWith = (deferred: readonly Pending[]): void => {
    if (turn) clearImmediate(turn)
    turn = null
    const batch = deferred.length === 0 ? awaited : [...deferred, ...awaited]
    awaited = []
    commit(withoutDropped(batch))
  }

  /** Commits what somebody waits for. What nobody waits for may be settled before its time, and never be written. */
  const endTurn = (): void => commitWith(NOTHING)

  const flush = (): void => {
    for (const waiting of [timer, retry]) if (waiting) clearTimeout(waiting)
    timer = retry = null
    commitWith(deferred.takeAll())
  }

  const commitAged = (): void => {
    const { due, isMore } = deferred.takeAged()
    timer = isMore ? setTimeout(commitAged, DEFER_MS) : null
    commitWith(due)
  }

  /** Nothing may go ahead of what waits for the disk. */
  const isStuck = (): boolean => trouble.failure !== null && awaited.length > 0

  return {
    async enqueue(write) {
      await whenCommitted(push(write, undefined), commitSignal)
    },
    push,
    committed: (pending) => whenCommitted(pending, commitSignal),
    endTurn() {
      // While the disk takes nothing, the next try has its time.
      if (trouble.failure === null) endTurn()
    },
    defer<What>(write: (what: What) => void, what?: What) {
      const pending = toPending(write, what as What)
      if (closed) return pending
      deferred.add(pending)
      if (trouble.failure !== null) retry ??= setTimeout(flush, RETRY_MS)
      else timer ??= setTimeout(commitAged, DEFER_MS)
      return pending
    },
    flush,
    ...prepareTransactions(database, logSync, trouble, flush, () => closed || isStuck()),
    atClose: group.atClose,
    synced: () => logSync.settled(),
    get writable() {
      return trouble.failure === null && !closed
    },
    trouble: () => (closed ? 'failing' : trouble.check(awaited.length > 0)),
    close() {
      flush()
      closed = true
      if (retry) clearTimeout(retry)
      // What the disk would not take to the last is lost with the process; whoever waits for it must know.
      for (const one of awaited.splice(0)) refuse(one, unavailable())
      commitSignal.fire()
      logSync.close()
    },
  }
}

/** What is a transaction of its own. `isBarred` tells whether none may be begun. */
function prepareTransactions(
  database: Database,
  logSync: LogSync,
  trouble: Trouble,
  flush: () => void,
  isBlocked: () => boolean,
): Pick<GroupCommit, 'commitDurably' | 'tryWrite'> {
  return {
    async commitDurably(write, committed) {
      flush()
      if (isBlocked()) throw unavailable(trouble.failure ?? undefined)
      const result = attempt(database.transaction(write).immediate)
      trouble.report(null)
      committed?.(result)
      await logSync.settled().catch(rejectAct)
      return result
    },
    tryWrite(write) {
      if (isBlocked() || !isAccepted(database.transaction(write).immediate)) return false
      trouble.report(null)
      logSync.dirty()
      return true
    },
  }
}

function attempt<T>(write: () => T): T {
  try {
    return write()
  } catch (error) {
    throw toStoreError(error)
  }
}

function rejectAct(cause: unknown): never {
  throw unavailable('failing', cause)
}

/** False when the disk would not take it. */
function isAccepted(write: () => void): boolean {
  try {
    write()
    return true
  } catch (error) {
    if (troubleOf(error) !== null) return false
    throw error
  }
}
