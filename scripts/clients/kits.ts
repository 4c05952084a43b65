/** What clients are made of: packages of npm or PyPI at pinned versions, installed once into a cache outside of the project. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

export interface Kit {
  readonly registry: 'npm' | 'pip'
  readonly packages: readonly string[]
}

export const npm = (...packages: readonly string[]): Kit => ({ registry: 'npm', packages })
export const pip = (...packages: readonly string[]): Kit => ({ registry: 'pip', packages })

export const CACHE = join(
  process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
  'gatewayctl-clients',
)

/** A registry that does not answer must not hold the whole run. */
const MAX_MS = 600_000

/** The directory of a kit, installed unless it is there. @throws Error with the last words of the installer */
export async function install(kit: Kit, cache: string): Promise<string> {
  const { registry, packages } = kit
  const digest = createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 12)
  const home = join(cache, `${registry}-${digest}`)
  if (existsSync(join(home, 'complete'))) return home
  // Half of an installation; and a venv cannot be moved, so that it is made in place.
  rmSync(home, { recursive: true, force: true })
  mkdirSync(home, { recursive: true })
  await (registry === 'npm' ? installNpm : installPip)(home, packages)
  const draft = join(home, 'draft')
  writeFileSync(draft, `${packages.join('\n')}\n`)
  renameSync(draft, join(home, 'complete'))
  return home
}

/** No package's own scripts run. */
async function installNpm(home: string, packages: readonly string[]): Promise<void> {
  writeFileSync(join(home, 'package.json'), '{"private":true}')
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
  const retries = ['--fetch-retries=1', '--loglevel=error']
  await run(['npm', 'install', ...quiet, ...retries, ...packages], home)
}

/** Wheels alone: nothing of a package runs before it is imported. */
async function installPip(home: string, packages: readonly string[]): Promise<void> {
  await run(['python3', '-m', 'venv', home], home)
  const quiet = [
    '--quiet',
    '--disable-pip-version-check',
    '--only-binary',
    ':all:',
    '--retries',
    '1',
  ]
  await run([join(home, 'bin', 'python'), '-m', 'pip', 'install', ...quiet, ...packages], home)
}

async function run(command: readonly string[], cwd: string): Promise<void> {
  const child = Bun.spawn([...command], {
    cwd,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: MAX_MS,
  })
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
  if ((await child.exited) === 0) return
  const last = `${out}\n${err}`.trim().split('\n').slice(-3).join(' · ')
  throw new Error(last || `${command.join(' ')} failed`)
}
