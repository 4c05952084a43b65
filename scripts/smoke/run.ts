// Starts the compiled binary as an operator would, with nothing of this shell in its environment.
import { BINARY } from '../compile.ts'

/** An environment in which only the scratch directory is home. */
export function bareEnvironment(scratch: string): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: scratch,
    XDG_CONFIG_HOME: `${scratch}/config`,
    XDG_RUNTIME_DIR: `${scratch}/runtime`,
    GATEWAY_DATA_DIR: `${scratch}/data`,
    NO_COLOR: '1',
  }
}

/** Runs one command to its end; throws what it said unless it exits 0. */
export function run(args: readonly string[], scratch: string, cwd = scratch): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([BINARY, ...args], {
    cwd,
    env: bareEnvironment(scratch),
    stdin: 'ignore',
  })
  if (exitCode !== 0) {
    throw new Error(`gatewayctl ${args.join(' ')} exited ${exitCode}\n${stderr}${stdout}`)
  }
  return stdout.toString()
}

/** Makes the data directory of the scratch home; a second call finds it made. */
export function initialise(scratch: string): void {
  run(['init', '--no-input'], scratch)
}
