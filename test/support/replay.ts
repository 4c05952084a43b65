// A provider made of recorded traffic: starts the replay server, and lists what it can serve.
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startListening } from './listening-child.ts'
import type { UpstreamRequest } from './synthetic-upstream.ts'

const SHARED = fileURLToPath(new URL('../../../shared/', import.meta.url))
const SERVER = `${SHARED}upstream/replay.mjs`
const RECORDINGS = `${SHARED}recordings`

/** One recorded exchange, as the index and its file describe it. */
export interface Recording {
  /** `family/slug`: served under `/r/family/slug`. */
  readonly name: string
  readonly family: string
  readonly provider: string
  readonly stream: boolean
  readonly status: number
  readonly covers: string
}

/** What the provider sent. */
export interface RecordedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** An event stream. */
  readonly sse?: string
  /** A body that is no JSON. */
  readonly text?: string
  readonly body_prefix?: string
  readonly body?: unknown
}

let announced = false

/** Every recording of the index; empty, and said so once, where there are none. */
export function recordings(): readonly Recording[] {
  const index = `${RECORDINGS}/index.tsv`
  const found = existsSync(index) ? readFileSync(index, 'utf8').trim().split('\n').slice(1) : []
  if (!announced) {
    announced = true
    const line = found.length > 0 ? `${found.length} served` : 'skipped'
    process.stdout.write(`recordings: ${line}\n`)
  }
  return found.map((row) => {
    const [file = '', family = '', provider = '', stream, status, covers = ''] = row.split('\t')
    return {
      name: file.replace(/\.json$/, ''),
      family,
      provider,
      stream: stream === 'y',
      status: Number(status),
      covers,
    }
  })
}

/** What was sent back in a recording, by its name. */
export function readRecording(name: string): RecordedResponse {
  return JSON.parse(readFileSync(`${RECORDINGS}/${name}.json`, 'utf8')).response
}

export interface Replay {
  /** `http://127.0.0.1:port`; a provider's base URL is this and a path: `/r/groq/stream-text`. */
  readonly url: string
  requests(): Promise<readonly UpstreamRequest[]>
  forget(): Promise<void>
  stop(): Promise<void>
}

/** Starts the replay server as a child, on Node where there is one; undefined where there is no such server. */
export async function startReplay(): Promise<Replay | undefined> {
  if (!existsSync(SERVER)) return undefined
  const node = Bun.which('node') ?? process.execPath
  const { url, stop } = await startListening([
    ...[node, SERVER],
    ...['--recordings', RECORDINGS, '--port', '0'],
  ])
  return {
    url,
    requests: async () => (await (await fetch(`${url}/_log`)).json()) as readonly UpstreamRequest[],
    forget: async () => {
      await fetch(`${url}/_log`, { method: 'DELETE' })
    },
    stop,
  }
}
