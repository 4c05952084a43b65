/** Standard output and error, written to directly: creating the runtime's streams costs a short command milliseconds. */
import { fstatSync, readFileSync, writeSync } from 'node:fs'
import { type Outlet, openOutlet } from './outlet.ts'

interface Output {
  readonly fd: 1 | 2
  stream(): NodeJS.WriteStream
  /** Set once output goes through the stream: later output must not overtake what it has buffered. */
  isStream: boolean
  /** Of a server. */
  outlet: Outlet | null
}

const OUT: Output = { fd: 1, stream: () => process.stdout, isStream: false, outlet: null }
const ERR: Output = { fd: 2, stream: () => process.stderr, isStream: false, outlet: null }

type RenderLoss = Parameters<typeof openOutlet>[1]

/** From now on this process is a server, which works on whatever becomes of its output. */
export function openOutlets(rendersLoss: { readonly out: RenderLoss; readonly error: RenderLoss }) {
  OUT.outlet = openOutlet(OUT.stream(), rendersLoss.out)
  ERR.outlet = openOutlet(ERR.stream(), rendersLoss.error)
}

/** Resolves once what a server printed was written, or refused. */
export async function outletsDrained(): Promise<void> {
  await Promise.all([OUT.outlet?.drained(), ERR.outlet?.drained()])
}

/** The first use of `Buffer.from` costs a short command a tenth of a millisecond. */
const ENCODER = new TextEncoder()

/** Delivers every byte, however slow the reader: the stream buffers what the descriptor does not accept at once. */
function write(output: Output, text: string): void {
  if (output.outlet !== null) {
    output.outlet.write(text)
    return
  }
  const bytes = ENCODER.encode(text)
  const taken = output.isStream ? 0 : writeNow(output.fd, bytes)
  if (taken === bytes.length) return
  if (!output.isStream) output.stream().on('error', (error) => forget(error, output.fd))
  output.isStream = true
  output.stream().write(bytes.subarray(taken))
}

/** Returns how many bytes were handled: all, unless the descriptor would block. */
function writeNow(fd: number, bytes: Uint8Array): number {
  let taken = 0
  if (fd === OUT.fd && isStandIn()) gone.add(fd)
  try {
    while (taken < bytes.length) taken += writeSync(fd, bytes, taken)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    if (code === 'EAGAIN') return taken
    // A failure of standard error cannot be reported anywhere.
    if (!GONE.has(code) && fd === OUT.fd) throw new UnwritableError('standard output', error)
    gone.add(fd)
    return bytes.length
  }
  return taken
}

/** `O_CLOEXEC`, as Linux shows it: what was inherited never has it. */
const CLOSED_ON_EXEC = 0o2000000

let standsIn: boolean | null = null

/** Whether standard output was closed before the start, where the runtime opens `/dev/null` in its place: a write to it says nothing. */
function isStandIn(): boolean {
  standsIn ??= isCharacterDevice(OUT.fd) && (flagsOf(OUT.fd) & CLOSED_ON_EXEC) !== 0
  return standsIn
}

/** None where the system does not show them. */
function flagsOf(fd: number): number {
  try {
    const [, flags = ''] =
      /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')) ?? []
    return Number.parseInt(flags, 8) || 0
  } catch {
    return 0
  }
}

/** Output could not be written, for example because a disk is full. */
export class UnwritableError extends Error {
  constructor(place: string, cause: unknown) {
    super(`cannot write to ${place}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    })
    this.name = 'UnwritableError'
  }
}

/** The reader has closed the pipe, as `head` does, or there never was one: not an error. */
const GONE: ReadonlySet<unknown> = new Set(['EPIPE', 'EBADF'])

function forget(error: NodeJS.ErrnoException, fd: number): void {
  if (!GONE.has(error.code)) throw error
  gone.add(fd)
}

const gone = new Set<number>()

/** Whether the reader of standard output has gone: endless commands then stop. */
export const isReaderGone = (): boolean => gone.has(OUT.fd)

export const writeOut = (text: string): void => write(OUT, text)
export const writeError = (text: string): void => write(ERR, text)

/** Waits until what the stream of standard output has buffered is taken, or its reader has gone: for long output. */
export async function drained(): Promise<void> {
  const stream = OUT.isStream ? OUT.stream() : null
  if (!stream?.writableNeedDrain || isReaderGone()) return
  await new Promise<void>((resolve) => {
    const events = ['drain', 'close', 'error'] as const
    const go = (): void => {
      for (const event of events) stream.off(event, go)
      resolve()
    }
    for (const event of events) stream.on(event, go)
  })
}

/** Whether the descriptor is a terminal. Only a character device can be one; the full check costs a millisecond. */
export function isTerminal(fd: 0 | 1 | 2): boolean {
  if (!isCharacterDevice(fd)) return false
  const name = (['stdin', 'stdout', 'stderr'] as const)[fd]
  return process[name].isTTY === true
}

/** False for a descriptor that was closed before the start. */
function isCharacterDevice(fd: number): boolean {
  try {
    return fstatSync(fd).isCharacterDevice()
  } catch {
    return false
  }
}
