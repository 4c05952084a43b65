// How the suite runs: under Bun, one process per file, except for the files that touch nothing but their own objects.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const IN_ONE = 'test/{domain,http,operator,upstream}/**/*.test.ts'

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
    projects: [
      {
        extends: true,
        test: { name: 'apart', include: ['test/**/*.test.{ts,tsx}'], exclude: [IN_ONE] },
      },
      // These run last, so that the end is not one file that waits; a process of its own costs each more than its tests.
      { extends: true, test: { name: 'together', include: [IN_ONE], isolate: false } },
    ],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
