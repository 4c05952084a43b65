/** A directory of its own for a test, gone when the test is over. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Call it inside a test or its `beforeEach`. */
export function tempDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'gatewayctl-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
