// Prepares a fresh clone: runs `npm ci` when node_modules is missing or older than the lock file.
// Plain JavaScript for Node 20 on purpose: it is what brings Bun in.
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** npm rewrites this hidden file at the end of every install, so its age is the install's age. */
const installed = modifiedMs('node_modules/.package-lock.json')
const wanted = modifiedMs('package-lock.json')
const bunIsThere = modifiedMs('node_modules/.bin/bun') > 0

if (installed < wanted || !bunIsThere) {
  process.stderr.write('installing the pinned dependencies (npm ci)\n')
  const { status } = spawnSync('npm', ['ci', '--no-fund', '--no-audit', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  })
  process.exitCode = status ?? 1
}

/** @param {string} path */
function modifiedMs(path) {
  return statSync(`${root}/${path}`, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
