// How the suite runs: under Bun, one process per file, with migrations imported as text.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Vite does not know `import sql from './0001.sql' with { type: 'text' }`; Bun does. */
const sqlText = {
  name: 'sql-text',
  enforce: 'pre' as const,
  load(id: string) {
    const path = id.split('?')[0] ?? id
    return path.endsWith('.sql')
      ? `export default ${JSON.stringify(readFileSync(path, 'utf8'))}`
      : undefined
  },
}

export default defineConfig({
  root,
  plugins: [sqlText],
  // The build inlines the version; a test sees a fixed one.
  define: { GATEWAY_VERSION: JSON.stringify('0.0.0-test') },
  test: {
    pool: 'forks',
    // Most of the longer ones wait: for kills, deadlines, browsers. Left to itself vitest runs one at a time on two cores.
    maxWorkers: 3,
    include: ['test/**/*.test.{ts,tsx}'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
