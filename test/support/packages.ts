/** npm packages in a directory of its own, made when they are asked for and gone with it; none of their scripts run. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Packages {
  /** Programs in it find the packages. */
  readonly home: string
  close(): void
}

/** A registry that does not answer must not hold the whole run. */
const MAX_MS = 180_000

/** Installs `name@version` each, from the configured registry; answers why not where that cannot be had. */
export async function openPackages(wanted: readonly string[]): Promise<Packages | string> {
  const npm = Bun.which('npm')
  if (npm === null) return 'there is no npm'
  const home = mkdtempSync(join(tmpdir(), 'gwctl-packages-'))
  const close = (): void => rmSync(home, { recursive: true, force: true })
  writeFileSync(join(home, 'package.json'), '{"private":true}')
  const quiet = [
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--no-package-lock',
    '--loglevel=error',
  ]
  const ended = Bun.spawn(
    [npm, 'install', ...quiet, '--fetch-retries=1', '--fetch-timeout=20000', ...wanted],
    {
      cwd: home,
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: MAX_MS,
    },
  )
  const complaint = await ended.stderr.text()
  if ((await ended.exited) === 0) return { home, close }
  close()
  return complaint.trim().split('\n')[0] || 'npm install failed'
}
