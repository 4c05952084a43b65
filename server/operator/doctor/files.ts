/** Checks that only the owner can read the data directory. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { OperatorDeps } from '../deps.ts'
import { type Finding, ok, problem } from './finding.ts'

const OTHERS = 0o077

/** Directories 0700, files and socket 0600. */
export async function checkFiles({ dataDir }: OperatorDeps): Promise<readonly Finding[]> {
  if (dataDir === null) return []
  const inside = await readdir(dataDir, { recursive: true })
  const open: string[] = []
  for (const path of [dataDir, ...inside.map((name) => join(dataDir, name))]) {
    // A file such as a journal may be removed in between.
    const mode = await stat(path).then(
      (found) => found.mode,
      () => 0,
    )
    if ((mode & OTHERS) !== 0) open.push(path)
  }
  return [
    open.length === 0
      ? ok('files', 'data directory 0700, files 0600')
      : problem(
          'files',
          `others may read ${open.slice(0, 3).join(', ')}${open.length > 3 ? ` and ${open.length - 3} more` : ''}`,
          `chmod -R go= ${dataDir}`,
        ),
  ]
}
