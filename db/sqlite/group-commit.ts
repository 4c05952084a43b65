/** Group commit: everything written in one turn of the event loop goes to the database in one transaction. */
import type { Database } from 'bun:sqlite'
import { GatewayError } from '#domain/errors.ts'
import type { LogSync } from './log-sync.ts'

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
  /** False while the last commit failed (disk full, say): nothing may be admitted then. */
  readonly writable: boolean
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

const DISK_TROUBLE =
  /^SQLITE_(FULL|IOERR|BUSY|LOCKED|NOMEM|READONLY|CANTOPEN|PROTOCOL|CORRUPT|NOTADB|INTERRUPT)/

/** Whether the write may succeed later as it is; any other error is the fault of the write itself. */
const isDiskTrouble = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && DISK_TROUBLE.test(String(error.code))

const nobody = (): void => {}

/** Starts the committer of one connection. */
export function startGroupCommit(database: Database, logSync: LogSync): GroupCommit {
  let awaited: Pending[] = []
  let deferred: Pending[] = []
  let turn: ReturnType<typeof setImmediate> | null = null
  let timer: ReturnType<typeof setTimeout> | null = null
  let retry: ReturnType<typeof setTimeout> | null = null
  let writable = true
  let closed = false

  const group = prepareGroup(database)

  const commit = (batch: readonly Pending[]): void => {
    if (batch.length === 0) return
    const refused = commitBatch(group, batch)
    writable = refused.length === 0
    if (!writable) keepForRetry(refused)
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
    if (timer) clearTimeout(timer)
    turn = null
    timer = null
    const batch = deferred.length === 0 ? awaited : [...deferred, ...awaited]
    deferred = []
    awaited = []
    commit(batch)
  }

  const keepForRetry = (batch: readonly Pending[]): void => {
    awaited = [...batch, ...awaited]
    retry ??= setTimeout(() => {
      retry = null
      flush()
    }, RETRY_MS)
  }

  return {
    enqueue(write) {
      if (closed) return Promise.reject(unavailable())
      return new Promise((resolve, reject) => {
        awaited.push({ write, resolve, reject })
        if (writable) turn ??= setImmediate(endTurn)
      })
    },
    defer(write) {
      if (closed) return
      deferred.push({ write, resolve: nobody, reject: nobody })
      if (writable) timer ??= setTimeout(flush, DEFER_MS)
    },
    flush,
    async act(write, committed) {
      flush()
      if (!writable || closed) throw unavailable()
      const result = attempt(database.transaction(write).immediate)
      committed?.(result)
      await logSync.settled().catch(refuse)
      return result
    },
    spare(write) {
      if (!writable || closed) return false
      try {
        database.transaction(write).immediate()
      } catch (error) {
        if (isDiskTrouble(error)) return false
        throw error
      }
      logSync.dirty()
      return true
    },
    atClose: group.atClose,
    synced: () => logSync.settled(),
    get writable() {
      return writable && !closed
    },
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

/** Commits a batch; what the disk would not take comes back, to be tried again. */
function commitBatch(group: Group, batch: readonly Pending[]): readonly Pending[] {
  try {
    group.run(batch)
  } catch (error) {
    return isDiskTrouble(error) ? batch : commitEach(group, batch)
  }
  for (const { resolve } of batch) resolve()
  return []
}

/** One faulty write must not take its neighbours with it: each is committed alone, and only the faulty one rejects. */
function commitEach(group: Group, batch: readonly Pending[]): readonly Pending[] {
  for (const [position, one] of batch.entries()) {
    try {
      group.run([one])
      one.resolve()
    } catch (error) {
      if (isDiskTrouble(error)) return batch.slice(position)
      one.reject(error)
    }
  }
  return []
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
    if (isDiskTrouble(error)) return refuse(error)
    throw error
  }
}

function refuse(cause: unknown): never {
  throw unavailable(cause)
}

/** What every caller is told while the disk takes no writes. */
export const unavailable = (cause?: unknown): GatewayError =>
  new GatewayError(
    'store_unavailable',
    'the gateway cannot write to its disk; nothing was taken or charged',
    {
      retryAfterSeconds: 5,
      hint: 'gatewayctl doctor',
      cause,
    },
  )
