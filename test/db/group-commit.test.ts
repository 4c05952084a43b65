// Writes of one turn are committed together; a faulty one rejects alone; a disk that refuses is waited for.
import { Database } from 'bun:sqlite'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import {
  drop,
  type GroupCommit,
  isWaiting,
  type Pending,
  startGroupCommit,
} from '#db/sqlite/engine/group-commit.ts'
import { NO_LOG_SYNC } from '#db/sqlite/engine/log-sync.ts'
import { GatewayError } from '#domain/errors.ts'

let database: Database
let commit: GroupCommit
/** Makes the next so many transactions fail as a full disk does. */
let fullFor = 0

beforeEach(() => {
  database = new Database(':memory:', { strict: true })
  database.run('CREATE TABLE lines (text TEXT PRIMARY KEY) STRICT')
  commit = startGroupCommit(database, NO_LOG_SYNC)
  fullFor = 0
})

const committed = async (pending: Pending): Promise<void> => {
  while (isWaiting(pending)) await commit.over()
}

const insert = (text: unknown) => () => {
  if (fullFor > 0) {
    fullFor--
    throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
  }
  database.query('INSERT INTO lines VALUES (?)').run(text as string)
}
const text = (line: string): void => insert(line)()
/** What was found out is believed for a second. */
const WITHIN = { timeout: 5_000 }

const lines = () =>
  database
    .query<{ text: string }, []>('SELECT text FROM lines ORDER BY text')
    .all()
    .map(({ text }) => text)
const outcomes = async (writes: readonly Promise<void>[]) =>
  (await Promise.allSettled(writes)).map(({ status }) => status)

describe('a group', () => {
  test('is committed in one transaction, after the turn and not before', async () => {
    const writes = ['a', 'b', 'c'].map((text) => commit.enqueue(insert(text)))
    expect(lines()).toEqual([])
    await Promise.all(writes)
    expect(lines()).toEqual(['a', 'b', 'c'])
  })

  test('answers each write, of the time that it was written', async () => {
    fullFor = 1
    let tries = 0
    const write = commit.enqueue(() => {
      tries++
      text('a')
      return `of try ${tries}`
    })
    expect(await write).toBe('of try 2')
    expect(await commit.enqueue(lines)).toEqual(['a'])
  })

  test('is committed at once by a flush', () => {
    void commit.enqueue(insert('a'))
    commit.flush()
    expect(lines()).toEqual(['a'])
  })

  const poisons: [string, () => void][] = [
    ['a broken constraint', () => insert('a')()],
    ['a wrong type', () => insert(new Uint8Array(1))()],
    ['a statement that does not parse', () => database.run('INSERT INTO')],
    ['a fault of our own', () => BigInt(1.5)],
  ]

  test.each(poisons)('with %s loses that one write alone', async (_, poison) => {
    const writes = [insert('a'), insert('b'), poison, insert('c')].map(commit.enqueue)
    expect(await outcomes(writes)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
    expect(lines()).toEqual(['a', 'b', 'c'])
    expect(commit.writable).toBe(true)
    await commit.enqueue(insert('d'))
    expect(lines()).toEqual(['a', 'b', 'c', 'd'])
  })

  test('half a write is no write: what a faulty one did before it failed is undone', async () => {
    const write = commit.enqueue(() => {
      insert('half')()
      throw new TypeError('and then it broke')
    })
    await expect(write).rejects.toThrow('and then it broke')
    expect(lines()).toEqual([])
  })

  test('its sums are written last in the same transaction, and forgotten after every one', async () => {
    const sums: number[] = []
    let sum = 0
    commit.atClose({
      write: () => sums.push(sum),
      forget: () => {
        sum = 0
      },
    })
    const add = (amount: number) => () => {
      sum += amount
    }
    await Promise.all([commit.enqueue(add(1)), commit.enqueue(add(2))])
    expect(sums).toEqual([3])
    const poisoned = [add(4), () => insert(null)(), add(8)].map(commit.enqueue)
    await outcomes(poisoned)
    // The group failed before its sums were written; then each was alone.
    expect(sums).toEqual([3, 4, 8])
  })
})

describe('a write that is pushed', () => {
  test('gets its own result, as its neighbours do', async () => {
    const [good, faulty] = [commit.push(text, 'a'), commit.push(() => BigInt(1.5), 'b')]
    expect([isWaiting(good), isWaiting(faulty)]).toEqual([true, true])
    await committed(good)
    await expect(committed(faulty)).rejects.toThrow(RangeError)
    expect(isWaiting(good)).toBe(false)
    expect(lines()).toEqual(['a'])
  })

  test('is committed in its own turn if no other write is awaited', () => {
    commit.defer(insert('later'))
    const written = commit.push(text, 'a', true)
    expect([isWaiting(written), lines()]).toEqual([false, ['a']])
    commit.flush()
    expect(lines()).toEqual(['a', 'later'])
  })

  test('waits for the retry while the disk fails', async () => {
    fullFor = 1
    const first = commit.push(text, 'a', true)
    const second = commit.push(text, 'b', true)
    expect([isWaiting(first), isWaiting(second), lines()]).toEqual([true, true, []])
    await committed(first)
    expect([isWaiting(first), isWaiting(second), lines()]).toEqual([false, false, ['a', 'b']])
  })
})

describe('a deferred write', () => {
  test('does not run with an awaited write, and is written soon after', async () => {
    commit.defer(insert('later'))
    await commit.enqueue(insert('now'))
    expect(lines()).toEqual(['now'])
    await vi.waitFor(() => expect(lines()).toEqual(['later', 'now']), WITHIN)
  })

  test('is written first by a flush, in order', () => {
    const written: string[] = []
    void commit.enqueue(() => written.push('awaited'))
    commit.defer(() => written.push('deferred'))
    commit.flush()
    expect(written).toEqual(['deferred', 'awaited'])
  })

  test('is left out when it is not wanted any more, and no transaction is begun for it', async () => {
    let transactions = 0
    commit.atClose({ write: () => transactions++, forget: () => {} })
    const tried: string[] = []
    const write = (line: string): void => text(tried[tried.push(line) - 1] ?? 'nothing')
    drop(commit.defer(write, 'hold'))
    await Bun.sleep(50)
    commit.flush()
    expect([transactions, lines(), tried]).toEqual([0, [], []])
    const another = commit.defer(write, 'another')
    await vi.waitFor(() => expect(lines()).toEqual(['another']), WITHIN)
    drop(another)
    expect([transactions, lines(), tried]).toEqual([1, ['another'], ['another']])
  })

  test('stays deferred where only what is awaited is committed', () => {
    const hold = commit.defer(insert('later'))
    const written = commit.push(text, 'a')
    commit.flushAwaited()
    expect([written.state, hold.state]).toEqual(['committed', 'waiting'])
    expect(lines()).toEqual(['a'])
    commit.flush()
    expect(lines()).toEqual(['a', 'later'])
  })

  test('is skipped when it is dropped while the disk fails', async () => {
    fullFor = 1
    const hold = commit.defer((line: string) => text(line ?? 'nothing'), 'hold')
    const written = commit.push(text, 'a')
    commit.flush()
    drop(hold)
    await committed(written)
    expect(lines()).toEqual(['a'])
  })

  test('survives a disk that is full at its time', async () => {
    fullFor = 1
    commit.defer(insert('later'))
    commit.flush()
    commit.defer(insert('even later'))
    expect(lines()).toEqual([])
    await vi.waitFor(() => expect(lines()).toEqual(['even later', 'later']), WITHIN)
  })
})

describe('a failing disk', () => {
  test('is waited for: nothing is lost, nothing is rejected, order is kept', async () => {
    fullFor = 2
    const first = commit.enqueue(insert('a'))
    commit.flush()
    expect(commit.writable).toBe(false)
    const second = commit.enqueue(insert('b'))
    await Promise.all([first, second])
    expect(lines()).toEqual(['a', 'b'])
    expect(commit.writable).toBe(true)
  })

  test('refuses what an operator does meanwhile, and does it not', async () => {
    fullFor = 2
    const kept = commit.enqueue(insert('a'))
    commit.flush()
    const refused = await commit.commitDurably(insert('operator')).catch((thrown) => thrown)
    expect(refused).toMatchObject({ code: 'store_unavailable' })
    await kept
    expect(lines()).toEqual(['a'])
    await commit.commitDurably(insert('operator'))
    expect(lines()).toEqual(['a', 'operator'])
  })

  test('that fills up while a faulty write is sorted out keeps the writes after it', async () => {
    insert('twice')()
    let attempts = 0
    const late = commit.enqueue(() => {
      // Fine in the group, full when it is its turn alone, fine again later.
      attempts++
      if (attempts === 1) insert('late')()
      else if (attempts === 2) {
        fullFor = 1
        insert('late')()
      } else insert('late')()
    })
    const faulty = commit.enqueue(insert('twice'))
    expect(await outcomes([late, faulty])).toEqual(['fulfilled', 'rejected'])
    expect(lines()).toEqual(['late', 'twice'])
    expect(commit.writable).toBe(true)
  })

  test('is writable again also when only faulty writes were waiting', async () => {
    insert('twice')()
    fullFor = 1
    const faulty = commit.enqueue(insert('twice'))
    commit.flush()
    expect(commit.writable).toBe(false)
    await expect(faulty).rejects.toThrow('UNIQUE')
    expect(commit.writable).toBe(true)
    await commit.enqueue(insert('after'))
    expect(lines()).toEqual(['after', 'twice'])
  })
})

describe('an operator’s act', () => {
  test('commits what is pending first, and takes its effect over in the same turn', async () => {
    void commit.enqueue(insert('a'))
    let seen: readonly string[] = []
    const acting = commit.commitDurably(insert('b'), () => {
      seen = lines()
    })
    expect(seen).toEqual(['a', 'b'])
    await acting
  })

  test('that is refused leaves no trace, and rejects with its own reason', async () => {
    const refusal = new GatewayError('key_not_found', 'no such key')
    const act = commit.commitDurably(() => {
      insert('half')()
      throw refusal
    })
    await expect(act).rejects.toBe(refusal)
    await expect(commit.commitDurably(() => BigInt(1.5))).rejects.toBeInstanceOf(RangeError)
    expect(lines()).toEqual([])
  })

  test('whose disk fails rejects with store_unavailable', async () => {
    fullFor = 1
    await expect(commit.commitDurably(insert('a'))).rejects.toMatchObject({
      code: 'store_unavailable',
    })
    expect(lines()).toEqual([])
  })

  test('that cannot be synced is not acknowledged', async () => {
    const syncs = startGroupCommit(database, {
      ...NO_LOG_SYNC,
      settled: () => Promise.reject(new Error('EIO')),
    })
    const unknown = {
      code: 'store_unavailable',
      message: expect.stringContaining('the change is made, and a power cut may undo it'),
    }
    await expect(syncs.commitDurably(insert('a'))).rejects.toMatchObject(unknown)
    expect(lines()).toEqual(['a'])
    await expect(syncs.synced()).rejects.toMatchObject(unknown)
  })
})

describe('whether anything may be begun', () => {
  test('is found out by a write that changes nothing, where no commit has told', async () => {
    database.run('PRAGMA user_version = 7')
    expect(commit.trouble()).toBeNull()
    expect(database.query('PRAGMA user_version').get()).toEqual({ user_version: 7 })
    database.run('PRAGMA query_only = ON')
    await vi.waitFor(() => expect(commit.trouble()).toBe('read_only'), WITHIN)
    database.run('PRAGMA query_only = OFF')
    await vi.waitFor(() => expect(commit.trouble()).toBeNull(), WITHIN)
  })

  test('goes by the room: what runs is written all the same', async () => {
    let isShort = true
    const narrow = startGroupCommit(database, NO_LOG_SYNC, {
      isShort: () => isShort,
      isMoved: () => false,
    })
    expect(narrow.trouble()).toBe('full')
    await narrow.enqueue(insert('a'))
    await narrow.commitDurably(insert('b'))
    expect([narrow.trouble(), lines()]).toEqual(['full', ['a', 'b']])
    isShort = false
    await vi.waitFor(() => expect(narrow.trouble()).toBeNull(), WITHIN)
  })

  test('a write that was to find out and failed keeps nothing from being tried again', async () => {
    database.run('PRAGMA query_only = ON')
    expect(commit.trouble()).toBe('read_only')
    const late = commit.enqueue(insert('a'))
    commit.defer(insert('b'))
    database.run('PRAGMA query_only = OFF')
    await late
    expect(lines()).toEqual(['a', 'b'])
  })

  test('damage is final: waiting writes reject, and a later success does not clear it', async () => {
    const ruined = Object.assign(new Error('malformed'), { code: 'SQLITE_CORRUPT' })
    const lost = commit.enqueue(() => {
      throw ruined
    })
    await expect(lost).rejects.toMatchObject({ code: 'store_unavailable' })
    await commit.enqueue(insert('a'))
    expect([commit.trouble(), lines()]).toEqual(['damaged', ['a']])
  })
})

describe('once it is closed', () => {
  test('pending writes are written, and later ones reject', async () => {
    const pending = commit.enqueue(insert('a'))
    commit.close()
    await pending
    expect(lines()).toEqual(['a'])
    expect(commit.writable).toBe(false)
    await expect(commit.enqueue(insert('b'))).rejects.toMatchObject({ code: 'store_unavailable' })
    await expect(commit.commitDurably(insert('b'))).rejects.toMatchObject({
      code: 'store_unavailable',
    })
    expect(lines()).toEqual(['a'])
  })

  test('a write that a full disk refused rejects', async () => {
    fullFor = 100
    const lost = commit.enqueue(insert('a'))
    commit.close()
    await expect(lost).rejects.toMatchObject({ code: 'store_unavailable' })
  })
})
