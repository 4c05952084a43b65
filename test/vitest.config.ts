// How the suite runs: under Bun, one process per file.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The rooms whose tests start programs and wait for them: were their small files last, the others would be done long before. */
const LONG_ROOMS = /\/test\/(?:acceptance|db|cli|server)\//

class LongRoomsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { first = [], last = [] } = Object.groupBy(await super.sort(files), ({ moduleId }) =>
      LONG_ROOMS.test(moduleId) ? 'first' : 'last',
    )
    return [...first, ...last]
  }
}

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    // Bun imports TypeScript, JSON and SQL itself: transforming them for it took longer than most tests.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    pool: 'forks',
    // The build inlines the version; a test sees a fixed one.
    execArgv: [`--define=GATEWAY_VERSION="0.0.0-test"`],
    // Most of the longer ones wait: for kills, deadlines, browsers. Left to itself vitest runs one at a time on two cores.
    maxWorkers: 3,
    sequence: { sequencer: LongRoomsFirst },
    include: ['test/**/*.test.{ts,tsx}'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
