// How the suite runs: under Bun, a few files at a time, in processes that load what the files share once.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './support/longest-first.ts'
import { isOverNodes, ONE_PROCESS_FILES, OVER_NODES } from './support/one-process.ts'

/** They count what is alive in their process, or keep what it prints: each has one of its own. */
const APART = [
  'test/runtime/**/*.test.ts',
  'test/server/left-behind.test.ts',
  'test/cli/{csv,output}.test.ts',
]

if (isOverNodes) console.warn('one process: skipped what is about it or its data directory')

export default defineConfig(({ mode }) => ({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    // Bun imports TypeScript, JSON and SQL itself: transforming them for it took longer than most tests.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    pool: 'forks',
    // The build inlines the version; a test sees a fixed one.
    execArgv: [`--define=GATEWAY_VERSION="0.0.0-test"`],
    // The longer ones wait: for kills, deadlines, browsers. Left to itself vitest runs one at a time on two cores; what runs at
    // full size needs them for itself.
    maxWorkers: mode === 'full' ? 6 : 7,
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'apart', include: APART } },
      {
        extends: true,
        test: {
          name: 'together',
          include: ['test/**/*.test.{ts,tsx}'],
          exclude: isOverNodes ? [...APART, ...ONE_PROCESS_FILES] : APART,
          ...(isOverNodes && { testNamePattern: OVER_NODES }),
          isolate: false,
        },
      },
    ],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
}))
