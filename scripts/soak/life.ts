/** Lives of the gateway: each from its start to its end by SIGTERM or `kill -9`, and what it used meanwhile. */
import { readdirSync } from 'node:fs'
import type { Subprocess } from 'bun'
import { residentMebibytes } from '../bench/process.ts'

const START_MS = 30_000
const SAMPLE_MS = 1_000
/** A drain, and the store's own closing. */
const END_MS = 60_000
const DRAIN = '20s'
/** What is said of every orderly stop. */
const PLAIN = /^stopping: /

export interface Sample {
  readonly atMs: number
  readonly mebibytes: number
  readonly descriptors: number
}

export interface Life {
  readonly number: number
  readonly origin: string
  readonly samples: readonly Sample[]
  readonly startedMs: number
  /** How it ended, or undefined while it lasts; from the moment on when the signal is sent. */
  readonly endedBy: 'SIGKILL' | 'SIGTERM' | undefined
  /** When it was over; undefined while it lasts. */
  readonly endedMs: number | undefined
  /** Its exit code, however it ends. */
  readonly exited: Promise<number>
  /** What it said on standard error beside its banner. */
  readonly complaints: readonly string[]
  /** Stops it, or lets it go on. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void
  /** Sends the signal and waits. @throws Error when SIGTERM ends it otherwise than with 0, or it had ended by itself */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
}

export interface Body {
  readonly binary: string
  readonly env: Readonly<Record<string, string>>
}

/** Serves on a free port. @throws Error when it does not say that it listens */
export async function startLife(
  { binary, env }: Body,
  number: number,
  flags: readonly string[] = [],
): Promise<Life> {
  const command = [binary, 'serve', '--listen', '127.0.0.1:0', '--auth-listen', 'off', ...flags]
  const child = Bun.spawn([...command, '--drain', DRAIN], {
    env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const complaints: string[] = []
  const origin = await listensAt(child, complaints)
  const samples: Sample[] = []
  const startedMs = performance.now()
  const sampler = setInterval(() => {
    try {
      samples.push({
        atMs: performance.now() - startedMs,
        mebibytes: residentMebibytes(child.pid),
        descriptors: readdirSync(`/proc/${child.pid}/fd`).length,
      })
    } catch {
      // It has just died.
    }
  }, SAMPLE_MS)
  void child.exited.then(() => clearInterval(sampler))
  let endedBy: Life['endedBy']
  let endedMs: number | undefined
  return {
    number,
    origin,
    samples,
    startedMs,
    exited: child.exited,
    complaints,
    get endedBy() {
      return endedBy
    },
    get endedMs() {
      return endedMs
    },
    signal: (name) => void child.kill(name),
    async end(signal) {
      const before = child.exitCode ?? child.signalCode
      endedBy = signal
      child.kill(signal)
      const killTimer = setTimeout(() => child.kill('SIGKILL'), END_MS)
      const code = await child.exited
      clearTimeout(killTimer)
      endedMs = performance.now()
      if (before !== null) throw new Error(`life ${number} had ended by itself: ${before}`)
      if (signal === 'SIGTERM' && code !== 0)
        throw new Error(`SIGTERM ended life ${number} with ${code}`)
    },
  }
}

/** Reads both streams to their end: a full pipe would block the child. */
async function listensAt(
  child: Subprocess<'ignore', 'pipe', 'pipe'>,
  complaints: string[],
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let banner: string | null = ''
  const readBanner = (text: string): void => {
    if (banner === null) return
    banner += text
    const origin = /"base_url":"(http:\/\/127\.0\.0\.1:[1-9]\d*)/.exec(banner)?.[1]
    if (origin === undefined) return
    banner = null
    resolve(origin)
  }
  const complain = (text: string): void => {
    complaints.push(...text.split('\n').filter((line) => line !== '' && !PLAIN.test(line)))
  }
  void Promise.all([read(child.stdout, readBanner), read(child.stderr, complain)]).then(
    () => reject(new Error(`it did not serve:\n${complaints.join('\n')}`)),
    reject,
  )
  const timer = setTimeout(() => reject(new Error('it did not start in time')), START_MS)
  try {
    return await promise
  } catch (cause) {
    child.kill('SIGKILL')
    throw cause
  } finally {
    clearTimeout(timer)
  }
}

async function read(
  stream: ReadableStream<Uint8Array>,
  onText: (text: string) => void,
): Promise<void> {
  const decoder = new TextDecoder()
  for await (const bytes of stream) onText(decoder.decode(bytes, { stream: true }))
}
