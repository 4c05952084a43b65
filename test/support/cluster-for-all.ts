import { afterAll, beforeAll } from 'vitest'
import { type Cluster, startPostgres } from './postgres.ts'

/** A cluster of all tests of a file or a group: it is there from before the first of them until whatever they started has ended. */
export function clusterForAll(bin: string): Cluster {
  const cluster: Partial<Cluster> = {}
  beforeAll(async () => {
    Object.assign(cluster, await startPostgres(bin))
  })
  afterAll(() => cluster.stop?.())
  return cluster as Cluster
}
