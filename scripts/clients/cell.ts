/** One client against one family of providers: plays the turn, and says what was wrong with it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from './client.ts'
import type { Gateway, Line } from './gateway.ts'
import { type Played, type StandIn, type UpstreamName, WIRES } from './stand-in.ts'
import { costNanos } from './turn.ts'

/** An agent that repeats a request for ever must not hold the whole run. */
const MAX_MS = 240_000
/** What Anthropic's own clients are passed on to as they are. */
const SPEAKS_MESSAGES: readonly UpstreamName[] = ['anthropic', 'bedrock', 'vertex']
/** For what ends after the client does. */
const SETTLE_MS = 5_000

export interface Verdict {
  readonly faults: readonly string[]
  readonly tookMs: number
  /** Everything that helps to find the fault. */
  readonly trace: string
}

export async function runCell(
  client: Client,
  upstream: UpstreamName,
  { gateway, standIn, kit }: { gateway: Gateway; standIn: StandIn; kit: string },
): Promise<Verdict> {
  const startedMs = performance.now()
  const home = mkdtempSync(join(tmpdir(), 'gatewayctl-client-'))
  const text = `Both have answered: ${crypto.randomUUID().slice(0, 8)}.`
  const before = (await gateway.lines(upstream)).at(-1)?.id
  const logged = gateway.logged
  const played = standIn.begin(upstream, { calls: client.calls, text })
  const { url, keys } = gateway
  const { argv, env } = client.command({
    home,
    kit,
    url,
    key: keys[upstream],
    model: WIRES[upstream].model,
    alias: WIRES[upstream].alias,
  })
  try {
    const child = Bun.spawn([...argv], {
      cwd: home,
      env: { PATH: process.env['PATH'] ?? '', HOME: home, NO_COLOR: '1', ...env },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      timeout: MAX_MS,
      killSignal: 'SIGKILL',
    })
    const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
    const code = await child.exited
    const left = await leftOpen(gateway, upstream)
    const all = await gateway.lines(upstream)
    const lines = all.slice(all.findIndex(({ id }) => id === before) + 1)
    const shown = out.split(text).length - 1
    const said = [
      ...(client.free || shown >= (client.turns ?? 1) ? [] : ['the last word is not shown']),
      ...faultsOfTools(client, upstream, played),
    ]
    // One that gave up has not come to the end of its turn.
    const faults = [
      ...(code === 0 ? said : [`exited ${code}: ${lastError(err) || lastError(out)}`]),
      ...faultsOfBooks(client, played, lines),
      ...left,
    ]
    const log = gateway.log(logged)
    return { faults, tookMs: performance.now() - startedMs, trace: traceOf(out, err, log, played) }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

function faultsOfTools(
  { calls, turns = 1, surface }: Client,
  upstream: UpstreamName,
  { rounds, faults }: Played,
): readonly string[] {
  const found = [...new Set(faults)]
  if (calls.length === 0) return found
  if (rounds.length < turns) found.push(`${rounds.length} of ${turns} turns had results`)
  // A native request leaves as the client sent it, and results are matched by their ids.
  const isNative = surface === 'messages' && SPEAKS_MESSAGES.includes(upstream)
  for (const { calls: ids, results } of rounds) {
    const order = results.map(({ call }) => call)
    if (!isNative && order.join() !== ids.join()) found.push(`results of ${order} for ${ids}`)
    for (const [place, { tool, result }] of calls.entries()) {
      const got = results.find(({ call }) => call === ids[place])?.text
      if (!got?.includes(result)) found.push(`${tool} has answered ${JSON.stringify(got)}`)
    }
  }
  return found
}

/** Every answer that the provider counts is charged once, at its price, and nothing was refused. */
function faultsOfBooks(
  { free }: Client,
  { paid }: Played,
  lines: readonly Line[],
): readonly string[] {
  const found = lines
    .filter(({ status, ended_by }) => status !== 200 || ended_by !== 'completed')
    .map(({ surface, status, code, ended_by }) => `${surface}: ${status} ${code}, ${ended_by}`)
  if (free && paid.length > 0) found.push(`${paid.length} paid requests`)
  const inOrder = (costs: readonly number[]) => costs.toSorted((a, b) => a - b).join(' + ')
  const wanted = inOrder(paid.map(costNanos))
  const charged = inOrder(lines.map(({ cost_usd }) => Math.round(Number(cost_usd) * 1e9)))
  if (wanted !== charged) found.push(`charged ${charged} for ${wanted} nano-dollars`)
  return found
}

async function leftOpen(gateway: Gateway, upstream: UpstreamName): Promise<readonly string[]> {
  const deadlineMs = performance.now() + SETTLE_MS
  for (;;) {
    const { running, holds } = await gateway.open(upstream)
    if (running === 0 && holds === 0) return []
    if (performance.now() > deadlineMs) return [`${running} requests and ${holds} holds left open`]
    await Bun.sleep(50)
  }
}

const lastError = (text: string): string => {
  const lines = text.trim().split('\n')
  return (lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1) ?? '').trim().slice(0, 200)
}

const traceOf = (out: string, err: string, log: string, { asked, paid, counts }: Played): string =>
  [
    `── output\n${out}\n── errors\n${err}\n── gateway\n${log}`,
    `── provider: ${paid.length} paid, ${counts} counted`,
    ...asked.map(({ path, body }) => `${path} ${JSON.stringify(body)}`),
  ].join('\n')
