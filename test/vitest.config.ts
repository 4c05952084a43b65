// How the suite runs: under Bun, one process per file.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

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
    include: ['test/**/*.test.{ts,tsx}'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
