/** A terminal of one's own, with a program in it that believes a person sits there. */
import { dirname } from 'node:path'
import { onTestFinished } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import { until } from './appliance.ts'
import type { CliHarness } from './cli-harness.ts'

/** What lends terminals; where it is missing, tests that need one are skipped. */
export const hasTerminals = Bun.which('script') !== null

export interface Terminal {
  /** Waits until these words were shown. */
  says(words: string): Promise<void>
  type(text: string): void
  /** Everything shown so far. */
  shown(): string
  readonly exited: Promise<number>
}

/** Runs a command line in which gatewayctl is found; gone when the test is over. */
export function openTerminal(
  cli: CliHarness,
  command: string,
  env: Readonly<Record<string, string>> = {},
): Terminal {
  const child = Bun.spawn(['script', '-qec', command, '/dev/null'], {
    cwd: cli.home,
    env: { ...cli.env, PATH: `${dirname(BINARY)}:${cli.env['PATH']}`, TERM: 'dumb', ...env },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'ignore',
  })
  onTestFinished(() => child.kill('SIGKILL'))
  let shown = ''
  void (async () => {
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) shown += piece
  })()
  return {
    says: (words) =>
      until(() => shown.includes(words), `the terminal shows ${words}`).catch((cause: Error) => {
        throw new Error(`${cause.message}; it showed:\n${shown}`)
      }),
    type(text) {
      child.stdin.write(text)
      void child.stdin.flush()
    },
    shown: () => shown,
    exited: child.exited,
  }
}
