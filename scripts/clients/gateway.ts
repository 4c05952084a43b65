/** The compiled gateway with one model and one key for each family of providers. */
import { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type StandIn, UPSTREAMS, type UpstreamName, WIRES } from './stand-in.ts'
import { USD } from './turn.ts'
import type { CloudFront, Wire } from './wires/wire.ts'

const START_MS = 30_000

/** A line of the activity log. */
export interface Line {
  readonly id: string
  readonly surface: string
  readonly model: string
  readonly status: number
  readonly code: string | null
  readonly ended_by: string
  readonly cost_usd: string
}

export interface Gateway {
  /** Without `/v1`. */
  readonly url: string
  readonly keys: Readonly<Record<UpstreamName, string>>
  /** The newest lines of a key's activity, oldest first. */
  lines(upstream: UpstreamName): Promise<readonly Line[]>
  /** Requests of a key that have not ended, and what is still held for it. */
  open(upstream: UpstreamName): Promise<{ readonly running: number; readonly holds: number }>
  /** What it said about requests that were refused or failed, from this place on. */
  log(from: number): string
  readonly logged: number
  /** Stops it, and answers what its books have left open. */
  close(): Promise<string | null>
}

export async function startGateway(binary: string, { origin }: StandIn): Promise<Gateway> {
  const home = mkdtempSync(join(tmpdir(), 'gatewayctl-clients-'))
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    XDG_CONFIG_HOME: join(home, 'config'),
    GATEWAY_DATA_DIR: join(home, 'data'),
    NO_COLOR: '1',
  }
  const type = async (args: readonly string[], input?: string): Promise<string> => {
    const child = Bun.spawn([binary, ...args], {
      env,
      stdin: input === undefined ? 'ignore' : Buffer.from(input),
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
    if ((await child.exited) === 0) return out
    throw new Error(`gatewayctl ${args.join(' ')} exited ${child.exitCode}: ${err}${out}`)
  }
  const { keys, fronts } = await furnish(type, origin)
  const child = Bun.spawn([binary, 'serve', '--listen', '127.0.0.1:0', '--auth-listen', 'off'], {
    env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const log = hear(child.stdout)
  const url = await log.url
  const holdsOf = (upstream: UpstreamName): number => {
    const database = new Database(join(home, 'data', 'gateway.db'), { readonly: true })
    const sql = `SELECT count(*) AS n FROM holds WHERE model = '${WIRES[upstream].model}'`
    const holds = database.query<{ n: number }, []>(sql).get()?.n ?? -1
    database.close()
    return holds
  }
  return {
    url,
    keys,
    async lines(upstream) {
      const newest = await type(['activity', 'list', '--key', upstream, '--limit', '200', '--json'])
      return (JSON.parse(newest) as Line[]).toReversed()
    },
    async open(upstream) {
      const { usage } = JSON.parse(await type(['keys', 'show', upstream, '--json']))
      return { running: usage.requests_in_progress, holds: holdsOf(upstream) }
    },
    log: (from) => log.said().slice(from),
    get logged() {
      return log.said().length
    },
    async close() {
      child.kill('SIGTERM')
      const code = await child.exited
      const { clean, open_holds } = JSON.parse(await type(['audit', '--json']))
      rmSync(home, { recursive: true, force: true })
      for (const front of fronts) await front.stop()
      return code === 0 && clean && open_holds === 0
        ? null
        : `the gateway exited ${code}; audit: clean ${clean}, ${open_holds} open holds`
    },
  }
}

async function furnish(
  type: (args: readonly string[], input?: string) => Promise<string>,
  origin: string,
): Promise<{ readonly keys: Gateway['keys']; readonly fronts: readonly CloudFront[] }> {
  await type(['init', '--no-input'])
  await type(['balance', 'top-up', '100000'])
  const keys: [UpstreamName, string][] = []
  const fronts: CloudFront[] = []
  for (const name of UPSTREAMS) {
    const wire: Wire = WIRES[name]
    const { type: family, model, alias, base, flags } = wire
    const front = wire.front?.(`${origin}/${name}`)
    if (front) fronts.push(front)
    const address = (front?.url ?? `${origin}/${name}`) + base
    const at = ['--type', family, '--base-url', address, '--no-check']
    const credential = front?.credential ?? 'sk-clients'
    await type(['providers', 'add', String(model.split('/')[0]), ...at], credential)
    // The catalogue's card of it, at the vendor's prices.
    await type(['models', 'remove', model, '--yes']).catch(() => {})
    const prices = ['--in-usd', USD.input, '--out-usd', USD.output, '--cached-in-usd', USD.cached]
    await type(['models', 'add', model, ...prices.map(String), ...flags])
    await type(['models', 'alias', alias, model])
    keys.push([name, (await type(['keys', 'create', name])).trim()])
  }
  return { keys: Object.fromEntries(keys) as Record<UpstreamName, string>, fronts }
}

/** Collects what a stream says, and finds the address in it. */
function hear(stream: ReadableStream<Uint8Array>) {
  let text = ''
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const timer = setTimeout(() => reject(new Error(`it did not start:\n${text}`)), START_MS)
  void (async () => {
    const decoder = new TextDecoder()
    for await (const piece of stream) {
      text += decoder.decode(piece, { stream: true })
      const url = /"base_url":"(http:\/\/[^"]+)\/v1"/.exec(text)?.[1]
      if (url) resolve(url)
    }
    reject(new Error(`it ended early:\n${text}`))
  })()
  const url = promise.finally(() => clearTimeout(timer))
  return { url, said: () => text }
}
