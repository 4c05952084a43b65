// Nodes that start at the same moment over a database in which nothing is yet: one of them furnishes it, and all start.
import { expect, test } from 'vitest'
import { systemClock } from '#domain/clock.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { openNode } from '#test/support/nodes.ts'
import { POSTGRES_BIN } from '#test/support/postgres.ts'
import { act, openOperator } from './deps.ts'

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const cluster = clusterForAll(POSTGRES_BIN)

  test('make one account and one provider between them', async () => {
    const address = await cluster.create()
    const deps = await openOperator()
    const nodes = await Promise.all(['a', 'b', 'c'].map((name) => openNode(address, name)))
    const made = await Promise.all(
      nodes.map((store) =>
        act({ ...deps, store, clock: systemClock as never }, 'init', { first_key: false }),
      ),
    )
    expect(made.flatMap(({ created }) => created).toSorted()).toEqual(['account', 'provider'])
    expect((await nodes[0]?.audit())?.findings).toEqual([])
  })
}
