// What doctor says of the database that nodes share, and what is to be done.
import { describe, expect, test } from 'vitest'
import type { NodeRecord, ServerHealth } from '#domain/node.ts'
import { judgeServer } from '#operator/doctor/server.ts'

const SOUND: ServerHealth = {
  ...{
    onlyRead: null,
    oldest: null,
    aheadMs: 10,
    lacking: [],
    isDurable: true,
    named: 'ANY 1 (b)',
    attached: 1,
  },
}
const aNode = (ahead_ms: number): NodeRecord => ({
  ...{
    name: 'b',
    state: 'alive',
    in_flight: 0,
    epoch: 'e',
    version: '0',
    schema: 1,
    beat_at: '',
    ahead_ms,
  },
})
const said = (health: Partial<ServerHealth>, nodes: readonly NodeRecord[] = []) =>
  judgeServer({ ...SOUND, ...health }, nodes)
    .filter(({ level }) => level !== 'ok')
    .map(({ level, check, message, next }) => ({ level, check, message, next }))

describe('says what to do', () => {
  test('not while all is well', () => {
    expect(said({}, [aNode(-240)])).toEqual([])
    expect(said({ oldest: { pid: 7, who: 'ann', ms: 29_999 } })).toEqual([])
  })
  test.each<[string, Partial<ServerHealth>, string, string, string]>([
    [
      'transactions',
      { oldest: { pid: 7, who: 'ann', ms: 30_000 } },
      'warning',
      'of ann is open for 30.0 s',
      'pg_terminate_backend(7)',
    ],
    [
      'clock',
      { aheadMs: 250 },
      'warning',
      "this machine is 0.3 s ahead of the database's",
      'set-ntp',
    ],
    ['rights', { lacking: ['UPDATE on keys'] }, 'problem', 'lacks UPDATE on keys', 'store migrate'],
    ['commits', { isDurable: false }, 'problem', 'waits for no disk', 'synchronous_commit = on'],
    [
      'replication',
      { named: '' },
      'warning',
      'no synchronous standby is named',
      'synchronous_standby_names',
    ],
    ['replication', { attached: 0 }, 'problem', 'none is attached', 'start the standby'],
  ])('about %s: %j', (check, health, level, message, next) => {
    expect(said(health)).toEqual([
      {
        check,
        level,
        message: expect.stringContaining(message),
        next: expect.stringContaining(next),
      },
    ])
  })
  test('of each node whose clock is off', () => {
    expect(said({}, [aNode(-90_000)])).toMatchObject([
      { message: expect.stringContaining('node b is 90.0 s behind') },
    ])
  })
})
