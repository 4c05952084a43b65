/** Starts what is measured, each on its own core, and reads what it uses. */
import { readFileSync } from 'node:fs'
import type { Subprocess } from 'bun'

/** Kernel clock ticks of `/proc/<pid>/stat` are hundredths of a second on every Linux we run on. */
const MICROS_PER_TICK = 10_000

export interface Measured {
  readonly origin: string
  readonly pid: number
  stop(): Promise<void>
}

const canPin = Bun.which('taskset') !== null

/** Starts a command on one core and waits for the address in its output. */
export async function start(
  command: readonly string[],
  core: number,
  env: Record<string, string> = {},
): Promise<Measured> {
  const pinned = canPin ? ['taskset', '-c', String(core), ...command] : [...command]
  const child = Bun.spawn(pinned, {
    env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: '20000', ...env },
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const origin = await readOrigin(child)
  return {
    origin,
    pid: child.pid,
    async stop() {
      child.kill('SIGTERM')
      await child.exited
    },
  }
}

async function readOrigin(child: Subprocess<'ignore', 'pipe', 'ignore'>): Promise<string> {
  const reader = child.stdout.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) throw new Error(`a process of the bench ended at once: ${text}`)
    text += decoder.decode(value, { stream: true })
    const origin = /http:\/\/127\.0\.0\.1:\d+/.exec(text)
    if (!origin) continue
    void drain(reader)
    return origin[0]
  }
}

/** Reads on for ever: a child whose pipe is full would stop. */
async function drain(reader: { read(): Promise<{ readonly done: boolean }> }): Promise<void> {
  while (!(await reader.read()).done);
}

/** User and system time of a process so far. */
export function cpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * MICROS_PER_TICK
}

/** Memory in use, in mebibytes. */
export function residentMebibytes(pid: number): number {
  const kibibytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kibibytes) / 1024
}
