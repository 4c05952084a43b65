/** Group commit: everything written in a few turns of the event loop goes to the database in one transaction. */
import type { Database } from 'bun:sqlite'
import type { StoreTrouble } from '#domain/errors.ts'
import { type Disk, NO_DISK, toStoreError, troubleOf, unavailable, unsynced } from './disk.ts'
import type { LogSync } from './log-sync.ts'
import { statement } from './statement.ts'

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

/** Whether it is not committed yet. @throws what it was refused for */
export function isWaiting({ state, reason }: Pending): boolean {
  if (state === 'refused') throw reason
  return state === 'waiting'
}

export interface Closing {
  write(): void
  /** The transaction is over, committed or rolled back: start the next with empty sums. What the disk refused is written anew. */
  forget(isCommitted: boolean): void
}

const toPending = <What>(write: (what: What) => void, what: What): Pending => ({
  write,
  what: what as never,
  state: 'waiting',
  reason: null,
})

function refuse(pending: Pending, reason: unknown): void {
  pending.state = 'refused'
  pending.reason = reason
}

interface Refused {
  readonly batch: readonly Pending[]
  readonly trouble: StoreTrouble
}

/** Commits a batch; what the disk would not take comes back, to be tried again. */
function commitBatch(group: Group, batch: readonly Pending[]): Refused | null {
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

/** One transaction of many writes, followed by the sums over them. */
function prepareGroup(database: Database) {
  const closings: Closing[] = []

  const transact = database.transaction((batch: readonly Pending[]) => {
    for (const one of batch) one.write(one.what)
    for (const one of closings) one.write()
  }).immediate

  return {
    run(batch: readonly Pending[]): void {
      let isCommitted = false
      try {
        transact(batch)
        isCommitted = true
      } finally {
        for (const one of closings) one.forget(isCommitted)
      }
    },
    atClose(closing: Closing): void {
      closings.push(closing)
    },
  }
}

type CommitSignal = ReturnType<typeof startCommitSignal>

/** One promise for all that wait for the same moment. */
function startCommitSignal() {
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
function startDeferred() {
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

export interface GroupCommit {
  /** Runs `write` in the next transaction and resolves, with what it answers, once that is committed. */
  enqueue<T>(write: () => T): Promise<T>
  /**
   * The same for the hot path, without a closure or a promise: `what` is passed to `write`, at once where it `isAlone`, when no
   * other request is in progress that could share the transaction.
   */
  push<What>(write: (what: What) => void, what: What, isAlone?: boolean): Pending
  /** Resolves when the next transaction is over, however it went: whoever waits looks at its own write, which may be retried. */
  over(): Promise<void>
  /** Runs `write` within a tenth of a second or with the next `flush`; for writes that nothing awaits. */
  defer(write: () => void): Pending
  /** A write that is dropped before then is skipped. */
  defer<What>(write: (what: What) => void, what: What): Pending
  /** Commits all pending writes now; call it before reading what they may change. */
  flush(): void
  /**
   * The same without what was deferred, for whoever reads no holds and no lines of the log: what most requests never write is not
   * written because somebody looks.
   */
  flushAwaited(): void
  /**
   * Runs `write` in its own transaction and resolves once it is synced to disk. `committed` updates in-memory state in the
   * same turn, before any request can see a difference.
   */
  commitDurably<T>(write: () => T, committed?: (result: T) => void): Promise<T>
  /**
   * Tries `write` once, now, in its own transaction; false if the disk refused it. Other writes are not affected.
   */
  tryWrite(write: () => void): boolean
  /** Registers what every transaction writes last: the sums over its writes. */
  atClose(closing: Closing): void
  /** Resolves once everything committed so far is on the disk. */
  synced(): Promise<void>
  /** False while the last commit failed (disk full, say). */
  readonly writable: boolean
  /**
   * Why no request may be admitted, or null: the last commit failed, disk space is short, the files were moved, or, if there was
   * no commit for a second, a test write fails. Checked once a second at most.
   */
  trouble(): StoreTrouble | null
  close(): void
}

/** The delay before a failed commit is retried. */
const RETRY_MS = 250
/** For how many turns of the event loop a group stays open after its first: the more requests share it, the less each pays. */
const MORE_TURNS = 2
/** Deferred writes run at this age, at twice this at the latest; by then they may have become unnecessary. */
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

  const commitWith = (deferred: readonly Pending[]): void => {
    if (turn) clearImmediate(turn)
    turn = null
    const waiting = [...deferred, ...awaited.splice(0)]
    // What was deferred, or refused before, may have been dropped since.
    const batch = waiting.filter(({ state }) => state !== 'dropped')
    if (batch.length === 0) return
    const refused = commitBatch(group, batch)
    trouble.report(refused?.trouble ?? null)
    if (refused?.trouble === 'damaged') {
      // A retry cannot succeed, so the waiting requests must fail.
      for (const one of refused.batch) refuse(one, unavailable('damaged'))
    } else if (refused) {
      awaited = [...refused.batch, ...awaited]
      retry ??= setTimeout(flush, RETRY_MS)
    }
    logSync.dirty()
    // Every waiter checks its own write; one that is still pending waits for the next transaction.
    commitSignal.fire()
  }

  const push: GroupCommit['push'] = (write, what, isAlone = false) => {
    if (closed) throw unavailable()
    const pending = toPending(write, what)
    awaited.push(pending)
    // While the disk fails, no turn commits: the retry timer does, and what is deferred for long enough.
    if (trouble.failure !== null) retry ??= setTimeout(flush, RETRY_MS)
    else if (isAlone) endTurn()
    else turn ??= setImmediate(endTurn, MORE_TURNS)
    return pending
  }

  /** Commits awaited writes only, after `more` turns; for a reader at once. Deferred ones may be dropped before they are due. */
  const endTurn = (more = 0): void => {
    if (more > 0) turn = setImmediate(endTurn, more - 1)
    else commitWith(NOTHING)
  }

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

  /** Whether earlier writes wait for the disk; no other write may overtake them. */
  const isStuck = (): boolean => trouble.failure !== null && awaited.length > 0

  return {
    enqueue: prepareEnqueue(push, commitSignal),
    push,
    over: commitSignal.next,
    defer<What>(write: (what: What) => void, what?: What) {
      const pending = toPending(write, what as What)
      if (closed) return pending
      deferred.add(pending)
      if (trouble.failure !== null) retry ??= setTimeout(flush, RETRY_MS)
      else timer ??= setTimeout(commitAged, DEFER_MS)
      return pending
    },
    flush,
    flushAwaited: () => endTurn(),
    ...prepareTransactions(database, logSync, trouble, flush, () => closed || isStuck()),
    atClose: group.atClose,
    get writable() {
      return trouble.failure === null && !closed
    },
    trouble: () => (closed ? 'failing' : trouble.check(awaited.length > 0)),
    close() {
      flush()
      closed = true
      if (retry) clearTimeout(retry)
      // Writes that the disk still refuses are lost; their waiters must fail.
      for (const one of awaited.splice(0)) refuse(one, unavailable())
      commitSignal.fire()
      logSync.close()
    },
  }
}

const prepareEnqueue =
  (push: GroupCommit['push'], over: CommitSignal): GroupCommit['enqueue'] =>
  async <T>(write: () => T) => {
    let written: T | undefined
    const run = (): void => {
      written = write()
    }
    const pending = push(run, undefined)
    while (isWaiting(pending)) await over.next()
    return written as T
  }

/** The single-write transactions. `isBlocked` says whether none may begin. */
function prepareTransactions(
  database: Database,
  logSync: LogSync,
  trouble: Trouble,
  flush: () => void,
  isBlocked: () => boolean,
): Pick<GroupCommit, 'commitDurably' | 'tryWrite' | 'synced'> {
  const synced = (): Promise<void> => logSync.settled().catch(rejectUnsynced)
  return {
    synced,
    async commitDurably(write, committed) {
      flush()
      if (isBlocked()) throw unavailable(trouble.failure ?? undefined)
      // On a disk that is nearly full, changes are still written; elsewhere than in the gateway's file they would be lost.
      if (trouble.check(true) === 'moved') throw unavailable('moved')
      const result = attempt(database.transaction(write).immediate)
      trouble.report(null)
      committed?.(result)
      await synced()
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

function rejectUnsynced(cause: unknown): never {
  throw unsynced(cause)
}

/** False if the disk refused it. */
function isAccepted(write: () => void): boolean {
  try {
    write()
    return true
  } catch (error) {
    if (troubleOf(error) !== null) return false
    throw error
  }
}

/** Whether the disk takes writes. */
interface Trouble {
  /** Why the last commit failed; null when it succeeded. Damage lasts as long as the process. */
  readonly failure: StoreTrouble | null
  /** Notes that a commit succeeded (null) or failed. */
  report(found: StoreTrouble | null): void
  /**
   * Why no request may be admitted now, found out once a second at most. Where there was no commit for that long, a write
   * is tried, unless one is waiting to be tried anyway.
   */
  check(somethingWaits: boolean): StoreTrouble | null
}

/** How long a finding holds. */
const VALID_MS = 1_000

function watchTrouble(database: Database, disk: Disk): Trouble {
  const testWrite = prepareTestWrite(database)
  let failure: StoreTrouble | null = null
  let isShort = false
  let isMoved = false
  let committedMs = Number.NEGATIVE_INFINITY
  let checkedMs = Number.NEGATIVE_INFINITY

  const report = (found: StoreTrouble | null): void => {
    // Damage stays until a backup is restored, even if writes to other pages succeed.
    if (failure === 'damaged') return
    failure = found
    if (found === null) committedMs = performance.now()
  }

  return {
    get failure() {
      return failure
    },
    report: report,
    check(somethingWaits) {
      const nowMs = performance.now()
      if (nowMs - checkedMs >= VALID_MS) {
        checkedMs = nowMs
        isShort = disk.isShort()
        isMoved = disk.isMoved()
        if (!somethingWaits && failure !== 'damaged' && nowMs - committedMs >= VALID_MS)
          report(testWrite())
      }
      if (isMoved) return 'moved'
      return failure ?? (isShort ? 'full' : null)
    },
  }
}

/** Rewrites a page unchanged: why that fails, or null. Another process that holds the lock for a moment is not a failure yet. */
function prepareTestWrite(database: Database): () => StoreTrouble | null {
  const version = statement<{ user_version: number }>(database, 'PRAGMA user_version')
  return () => {
    try {
      database.run(`PRAGMA user_version = ${version().get()?.user_version ?? 0}`)
    } catch (error) {
      const trouble = troubleOf(error)
      if (trouble === null) throw error
      return trouble === 'locked' ? null : trouble
    }
    return null
  }
}
