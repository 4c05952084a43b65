/** Starts what is measured, each on its own core, and reads what it uses. */
import { existsSync, readFileSync } from 'node:fs'
import type { Subprocess } from 'bun'

/** Kernel clock ticks of `/proc/<pid>/stat` are hundredths of a second on every Linux we run on. */
const MICROS_PER_TICK = 10_000

export interface Measured {
  readonly origin: string
  readonly pid: number
  stop(): Promise<void>
}

const MAX_TRIES = 100
const TRY_MS = 100

const canPin = Bun.which('taskset') !== null

/** As the kernel lists them. What the bench starts would stay on the core that it is on itself. */
export const ALL_CORES = readFileSync('/sys/devices/system/cpu/online', 'utf8').trim()

/** Keeps the bench, which generates the load, off the measured core, or a process that it has started where it may be. */
export function stayOn(cores: number | string, pid: number = process.pid): void {
  if (canPin) Bun.spawnSync(['taskset', '-acp', String(cores), String(pid)])
}

/** Starts a command on one core, or on any where that is null, and waits for the address in its output. */
export async function start(
  command: readonly string[],
  core: number | null,
  env: Record<string, string> = {},
): Promise<Measured> {
  const child = spawn(command, core, env)
  return measured(child, await readOrigin(child))
}

/** Starts a command that listens where it is told to, and waits until it does. */
export async function startAt(
  port: number,
  command: readonly string[],
  core: number,
  env: Record<string, string> = {},
): Promise<Measured> {
  const child = spawn(command, core, env)
  void drain(child.stdout.getReader())
  const origin = `http://127.0.0.1:${port}`
  for (let n = 0; n < MAX_TRIES; n++) {
    if (child.exitCode !== null) break
    if (await fetch(origin).catch(() => null)) return measured(child, origin)
    await Bun.sleep(TRY_MS)
  }
  child.kill()
  throw new Error(`does not listen on ${port}: ${command.join(' ')}`)
}

/** Free at this moment. */
export function freePort(): number {
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  server.stop()
  return server.port
}

type Child = Subprocess<'ignore', 'pipe', 'ignore'>

function spawn(
  command: readonly string[],
  core: number | null,
  env: Record<string, string>,
): Child {
  const pinned = canPin ? ['taskset', '-c', String(core ?? ALL_CORES), ...command] : [...command]
  return Bun.spawn(pinned, {
    env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: '20000', ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  })
}

const measured = (child: Child, origin: string): Measured => ({
  origin,
  pid: child.pid,
  async stop() {
    child.kill('SIGTERM')
    await child.exited
  },
})

async function readOrigin(child: Child): Promise<string> {
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

/** Keeps reading: a full pipe would block the child. */
async function drain(reader: { read(): Promise<{ readonly done: boolean }> }): Promise<void> {
  while (!(await reader.read()).done);
}

/** Fields of `/proc/<pid>/stat`: user and system time of a process so far, and of its children that have ended. */
const OWN = [11, 12]
const OF_ENDED = [13, 14]

function readCpu(pid: number, which: readonly number[]): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return which.reduce((sum, nth) => sum + Number(fields[nth]), 0) * MICROS_PER_TICK
}

/** User and system time of a process so far. */
export const cpuMicros = (pid: number): number => readCpu(pid, OWN)

/** The same of a process and all that it has started, some of which may end just now. */
export function cpuMicrosWithChildren(pid: number): number {
  const [, ...children] = withChildren(pid)
  const living = children.filter((child) => existsSync(`/proc/${child}/stat`))
  return readCpu(pid, [...OWN, ...OF_ENDED]) + living.reduce((sum, one) => sum + cpuMicros(one), 0)
}

/** A process and those that it started. */
export function withChildren(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return [pid, ...children.split(' ').filter(Boolean).map(Number)]
}

/** Time that all cores together were at work since the machine started, for whomever. */
export function machineMicros(): number {
  const [user, nice, system, , , irq, softIrq, stolen] = readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0]!
    .split(/\s+/)
    .slice(1)
    .map(Number) as number[]
  return (user! + nice! + system! + irq! + softIrq! + stolen!) * MICROS_PER_TICK
}

/** Memory in use, in mebibytes. @throws for a process that has ended, which lies there without any until it is waited for */
export function residentMebibytes(pid: number): number {
  const kibibytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  if (kibibytes === undefined) throw new Error(`process ${pid} has ended`)
  return Number(kibibytes) / 1024
}
