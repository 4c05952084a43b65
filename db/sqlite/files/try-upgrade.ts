/** Whether a database that another process has open can be brought to the newest schema, and how fast: tried with a copy. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DATABASE_FILE } from '../../file-name.ts'
import { migrate } from '../engine/migrate.ts'
import { openDatabase } from '../engine/open.ts'
import { schemaVersion } from '../engine/schema-version.ts'
import { copyFile } from './copy.ts'

/** In milliseconds, with the copy that an upgrade makes. @throws what it would throw, store_unavailable */
export function tryUpgrade(dataDir: string): number {
  const path = join(dataDir, DATABASE_FILE)
  const trial = `${path}.trial`
  const made = [trial, `${trial}-wal`, `${trial}-shm`]
  try {
    copyFile(path, trial, { answers: true })
    const startedMs = performance.now()
    const copy = openDatabase(trial)
    try {
      made.push(`${trial}.pre-migrate-${schemaVersion(copy)}`)
      migrate(copy, trial)
    } finally {
      copy.close(true)
    }
    return performance.now() - startedMs
  } finally {
    for (const file of made) rmSync(file, { force: true })
  }
}
