/** Group commit: everything written in one turn of the event loop goes to the database in one transaction. */
import type { Database } from 'bun:sqlite'
import type { StoreTrouble } from '#domain/store.ts'
import { type Disk, NO_DISK, troubleOf, unavailable } from './disk.ts'
import type { LogSync } from './log-sync.ts'
import { watchTrouble } from './trouble.ts'

export interface GroupCommit {
  /** Runs `write` in the next transaction and resolves once that is committed. */
  enqueue(write: () => void): Promise<void>
  /** Runs `write` within a few milliseconds, or with the next `flush`: for what nobody waits for. */
  defer(write: () => void): void
  /** Commits what is pending, now: call it before reading what a pending write may have changed. */
  flush(): void
  /**
   * Runs an operator's act in a transaction of its own and resolves once it is on the disk. `committed` brings what is
   * kept in memory up to date in the same turn, before any request can see the difference.
   */
  act<T>(write: () => T, committed?: (result: T) => void): Promise<T>
  /**
   * Runs `write` in a transaction of its own, now; false when the disk would not take it. For what the house can do
   * without: its failure is nobody else's, and is not tried again.
   */
  spare(write: () => void): boolean
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

export interface Closing {
  write(): void
  /** The transaction is over, committed or rolled back: start the next with empty sums. */
  forget(): void
}

interface Pending {
  readonly write: () => void
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}

/** How soon a commit that failed is tried again. */
const RETRY_MS = 250
/** How long a deferred write may wait for company, or for the end of what it is about. */
const DEFER_MS = 5

const nobody = (): void => {}

/** Starts the committer of one connection. */
export function startGroupCommit(
  database: Database,
  logSync: LogSync,
  disk: Disk = NO_DISK,
): GroupCommit {
  let awaited: Pending[] = []
  let deferred: Pending[] = []
  let turn: ReturnType<typeof setImmediate> | null = null
  let timer: ReturnType<typeof setTimeout> | null = null
  let retry: ReturnType<typeof setTimeout> | null = null
  let closed = false

  const group = prepareGroup(database)
  const trouble = watchTrouble(database, disk)

  const commit = (batch: readonly Pending[]): void => {
    if (batch.length === 0) return
    const refused = commitBatch(group, batch)
    trouble.tell(refused?.trouble ?? null)
    if (refused?.trouble === 'damaged') {
      // Trying again is in vain, and whoever waits must not wait for ever.
      for (const { reject } of refused.batch) reject(unavailable('damaged'))
    } else if (refused) {
      awaited = [...refused.batch, ...awaited]
      retry ??= setTimeout(flush, RETRY_MS)
    }
    logSync.dirty()
  }

  /** Commits what somebody waits for. What nobody waits for may be settled before its time, and never be written. */
  const endTurn = (): void => {
    turn = null
    const batch = awaited
    awaited = []
    commit(batch)
  }

  const flush = (): void => {
    if (turn) clearImmediate(turn)
    for (const waiting of [timer, retry]) if (waiting) clearTimeout(waiting)
    turn = timer = retry = null
    const batch = deferred.length === 0 ? awaited : [...deferred, ...awaited]
    deferred = []
    awaited = []
    commit(batch)
  }

  /** Nothing may go ahead of what waits for the disk. */
  const isStuck = (): boolean => trouble.failure !== null && awaited.length > 0

  return {
    enqueue(write) {
      if (closed) return Promise.reject(unavailable())
      return new Promise((resolve, reject) => {
        awaited.push({ write, resolve, reject })
        if (trouble.failure !== null) retry ??= setTimeout(flush, RETRY_MS)
        else turn ??= setImmediate(endTurn)
      })
    },
    defer(write) {
      if (closed) return
      deferred.push({ write, resolve: nobody, reject: nobody })
      if (trouble.failure !== null) retry ??= setTimeout(flush, RETRY_MS)
      else timer ??= setTimeout(flush, DEFER_MS)
    },
    flush,
    async act(write, committed) {
      flush()
      if (closed || isStuck()) throw unavailable(trouble.failure ?? undefined)
      const result = attempt(database.transaction(write).immediate)
      trouble.tell(null)
      committed?.(result)
      await logSync.settled().catch(refuse)
      return result
    },
    spare(write) {
      if (closed || isStuck() || !isTaken(database.transaction(write).immediate)) return false
      trouble.tell(null)
      logSync.dirty()
      return true
    },
    atClose: group.atClose,
    synced: () => logSync.settled(),
    get writable() {
      return trouble.failure === null && !closed
    },
    trouble: () => (closed ? 'failing' : trouble.look(awaited.length > 0)),
    close() {
      flush()
      closed = true
      if (retry) clearTimeout(retry)
      // What the disk would not take to the last is lost with the process; whoever waits for it must know.
      for (const { reject } of awaited) reject(unavailable())
      awaited = []
      logSync.close()
    },
  }
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
  for (const { resolve } of batch) resolve()
  return null
}

/** One faulty write must not take its neighbours with it: each is committed alone, and only the faulty one rejects. */
function commitEach(group: Group, batch: readonly Pending[]): Refused | null {
  for (const [position, one] of batch.entries()) {
    try {
      group.run([one])
      one.resolve()
    } catch (error) {
      const trouble = troubleOf(error)
      if (trouble !== null) return { batch: batch.slice(position), trouble }
      one.reject(error)
    }
  }
  return null
}

type Group = ReturnType<typeof prepareGroup>

/** One transaction of many writes, closed by what they added up to. */
function prepareGroup(database: Database) {
  let closing: Closing = { write: nobody, forget: nobody }

  const transact = database.transaction((batch: readonly Pending[]) => {
    for (const { write } of batch) write()
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

function attempt<T>(write: () => T): T {
  try {
    return write()
  } catch (error) {
    const trouble = troubleOf(error)
    throw trouble === null ? error : unavailable(trouble, error)
  }
}

function refuse(cause: unknown): never {
  throw unavailable('failing', cause)
}

/** False when the disk would not take it. */
function isTaken(write: () => void): boolean {
  try {
    write()
    return true
  } catch (error) {
    if (troubleOf(error) !== null) return false
    throw error
  }
}
