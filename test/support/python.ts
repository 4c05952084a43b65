/** Python with packages of the registry in a directory of its own, made when it is asked for and gone with it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Python {
  /** The interpreter that sees the packages. */
  readonly path: string
  close(): void
}

/** A registry that does not answer must not hold the whole run. */
const MAX_MS = 180_000

/** Installs what a requirements file pins; answers why not where there is no Python, or nothing to install from. */
export async function openPython(requirements: string): Promise<Python | string> {
  const found = Bun.which('python3')
  if (found === null) return 'there is no python3'
  const home = mkdtempSync(join(tmpdir(), 'gwctl-python-'))
  const close = (): void => rmSync(home, { recursive: true, force: true })
  const path = join(home, 'bin', 'python')
  // Wheels alone: nothing of a package runs before it is imported.
  const install = ['-m', 'pip', 'install', '--quiet', '--only-binary', ':all:', '-r', requirements]
  const failure =
    (await run([found, '-m', 'venv', home])) ??
    (await run([path, ...install, '--timeout', '20', '--retries', '1']))
  if (failure === null) return { path, close }
  close()
  return failure
}

/** Null when it went well, else the last line of what it said. */
async function run(command: readonly string[]): Promise<string | null> {
  const ended = Bun.spawn([...command], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: MAX_MS,
  })
  const [out, err] = await Promise.all([ended.stdout.text(), ended.stderr.text()])
  if ((await ended.exited) === 0) return null
  return `${out}\n${err}`.trim().split('\n').at(-1) || `${command.join(' ')} failed`
}
