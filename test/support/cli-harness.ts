/** Runs the compiled program on a data directory of its own, with a clean environment. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BINARY } from '#scripts/compile.ts'
import { isOverNodes } from './one-process.ts'
import { createShared, dropShared } from './over-nodes.ts'

/** A command that hangs must not block the test run. */
const MAX_MS = 15_000

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface CliHarness {
  /** The program; that of this checkout unless told. */
  readonly binary: string
  readonly home: string
  readonly dataDir: string
  readonly env: Readonly<Record<string, string>>
  /** Runs one command to its end. */
  run(args: readonly string[], options?: RunOptions): Ended
  /** The same without blocking: for a command that calls a server in this process. */
  runBeside(args: readonly string[], options?: RunOptions): Promise<Ended>
  /** Runs it with `--json` and reads its answer; throws what it said when it failed. */
  json<T>(args: readonly string[]): T
  close(): void
}

export interface RunOptions {
  readonly stdin?: string
  readonly env?: Readonly<Record<string, string>>
}

/** `GATEWAYCTL_PROCESSES=2` runs the acceptance suite with a gateway that serves by so many processes. Outside the tiers. */
const { GATEWAYCTL_PROCESSES: processes } = process.env
const SERVED_BY = processes === undefined ? {} : { GATEWAY_PROCESSES: processes }

/** `more`: variables of every command and server of it. */
export function openCli(binary = BINARY, more: Readonly<Record<string, string>> = {}): CliHarness {
  const home = mkdtempSync(join(tmpdir(), 'gwctl-desk-'))
  const dataDir = join(home, 'data')
  const shared = isOverNodes && binary === BINARY ? createShared() : {}
  const env = {
    PATH: process.env['PATH'] ?? '',
    ...SERVED_BY,
    HOME: home,
    XDG_CONFIG_HOME: join(home, 'config'),
    // Demos get their socket here, and not in the user's runtime directory.
    XDG_RUNTIME_DIR: join(home, 'run'),
    GATEWAY_DATA_DIR: dataDir,
    ...shared,
    ...more,
  }
  const run = (args: readonly string[], options: RunOptions = {}): Ended => {
    const ended = Bun.spawnSync([binary, ...args], {
      cwd: home,
      env: { ...env, ...options.env },
      stdin: options.stdin === undefined ? 'ignore' : Buffer.from(options.stdin),
      timeout: MAX_MS,
    })
    return { code: ended.exitCode, out: ended.stdout.toString(), err: ended.stderr.toString() }
  }
  const runBeside = async (args: readonly string[], options: RunOptions = {}): Promise<Ended> => {
    const child = Bun.spawn([binary, ...args], {
      cwd: home,
      env: { ...env, ...options.env },
      stdin: options.stdin === undefined ? 'ignore' : Buffer.from(options.stdin),
      stdout: 'pipe',
      stderr: 'pipe',
      timeout: MAX_MS,
    })
    const [code, out, err] = await Promise.all([
      child.exited,
      child.stdout.text(),
      child.stderr.text(),
    ])
    return { code, out, err }
  }
  return {
    binary,
    home,
    dataDir,
    env,
    run,
    runBeside,
    json<T>(args: readonly string[]) {
      const { code, out, err } = run([...args, '--json'])
      if (code !== 0) throw new Error(`gatewayctl ${args.join(' ')} exited ${code}\n${err}`)
      return JSON.parse(out) as T
    },
    close() {
      rmSync(home, { recursive: true, force: true })
      if (isOverNodes && binary === BINARY) dropShared(shared)
    },
  }
}
