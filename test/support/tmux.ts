/** A real terminal with a shell in it, where the machine has tmux. */
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { until } from './appliance.ts'
import type { CliHarness } from './cli-harness.ts'
import { tempDirectory } from './temp-directory.ts'

export const TMUX = Bun.which('tmux')

if (TMUX === null) console.warn('tmux: skipped, it is not installed')

export interface TmuxTerminal {
  /** Types keys as tmux names them ("Enter", "C-z"), or text. */
  send(...keys: readonly string[]): void
  /** What is on the screen now; with `escapes`, its colours too. */
  screen(escapes?: boolean): string
  /** Waits until the screen fits, and answers it. */
  shows(what: RegExp | string, withinMs?: number): Promise<string>
  resize(columns: number, rows: number): void
  /** One of tmux's own: `alternate_on`, `cursor_flag`, `pane_pid` … */
  tell(format: string): string
}

/** With this environment on top of the desk's; closed with the test. Ask `TMUX` first. */
export async function openTerminal(
  cli: CliHarness,
  columns: number,
  rows: number,
  env: Readonly<Record<string, string>> = {},
): Promise<TmuxTerminal> {
  const socket = join(tempDirectory(), 'tmux')
  const run = (...args: readonly string[]): string => {
    const { stdout, stderr, exitCode } = Bun.spawnSync(
      [TMUX ?? 'tmux', '-S', socket, '-f', '/dev/null', ...args],
      { env: { ...cli.env, LANG: 'C.UTF-8', TERM: 'xterm-256color' }, cwd: '/' },
    )
    if (exitCode !== 0) throw new Error(`tmux ${args.join(' ')}: ${stderr.toString()}`)
    return stdout.toString()
  }
  const variables = Object.entries({ ...cli.env, LANG: 'C.UTF-8', PS1: '$ ', ...env })
  const shell = [
    'env',
    '-i',
    'TERM=screen-256color',
    ...variables.map(([key, value]) => `${key}=${value}`),
  ]
  run(
    'new-session',
    '-c',
    cli.home,
    '-d',
    '-x',
    String(columns),
    '-y',
    String(rows),
    ...shell,
    'bash',
    '--norc',
    '-i',
  )
  onTestFinished(() => void run('kill-server'))
  const screen = (escapes = false): string => run('capture-pane', '-p', ...(escapes ? ['-e'] : []))
  const terminal: TmuxTerminal = {
    send: (...keys) => void run('send-keys', ...keys),
    screen,
    async shows(what, withinMs = 15_000) {
      let seen = ''
      const isThere = (): boolean => {
        seen = screen()
        return typeof what === 'string' ? seen.includes(what) : what.test(seen)
      }
      await until(isThere, `it shows ${what}`, withinMs).catch((thrown) => {
        throw new Error(`${thrown.message}\n${seen}`)
      })
      return seen
    },
    resize: (width, height) => void run('resize-window', '-x', String(width), '-y', String(height)),
    tell: (format) => run('display-message', '-p', `#{${format}}`).trim(),
  }
  await terminal.shows(/^\$/)
  return terminal
}
