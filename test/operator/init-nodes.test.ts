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

  test.each([
    { first_key: false, parts: ['account', 'provider'] },
    { first_key: true, parts: ['account', 'key', 'provider'] },
  ])('make one of each between them: $parts', async ({ first_key, parts }) => {
    const address = await cluster.create()
    const deps = await openOperator()
    const nodes = await Promise.all(['a', 'b', 'c'].map((name) => openNode(address, name)))
    const made = await Promise.all(
      nodes.map((store) =>
        act({ ...deps, store, clock: systemClock as never }, 'init', { first_key }),
      ),
    )
    expect(made.flatMap(({ created }) => created).toSorted()).toEqual(parts)
    expect((await nodes[0]?.audit())?.findings).toEqual([])
  })
}
