/** The providers of all families on one server: each plays the turn of the client that is tried, and remembers what it was asked. */
import type { Counted, Json, Saying, ToolCall, Turn } from './turn.ts'
import { countedOf } from './turn.ts'
import { ANTHROPIC } from './wires/anthropic.ts'
import { CHAT } from './wires/chat.ts'
import { BEDROCK, VERTEX } from './wires/clouds.ts'
import { GEMINI } from './wires/gemini.ts'
import { RESPONSES } from './wires/responses.ts'
import type { Heard, Round, Wire } from './wires/wire.ts'

export const WIRES = {
  chat: CHAT,
  responses: RESPONSES,
  anthropic: ANTHROPIC,
  gemini: GEMINI,
  bedrock: BEDROCK,
  vertex: VERTEX,
} as const satisfies Readonly<Record<string, Wire>>

export type UpstreamName = keyof typeof WIRES

export const UPSTREAMS = Object.keys(WIRES) as readonly UpstreamName[]

/** What one provider lived through with one client. */
export interface Played {
  /** What it charges for, oldest first. */
  readonly paid: Counted[]
  /** How often it was asked for a count of tokens. */
  counts: number
  /** The rounds of calls with results, each as it was first sent. */
  readonly rounds: Round[]
  readonly faults: string[]
  /** Every request, for whoever looks for a fault. */
  readonly asked: { readonly path: string; readonly body: unknown }[]
}

export interface StandIn {
  readonly origin: string
  /** From now on this provider plays that turn. */
  begin(upstream: UpstreamName, turn: Turn): Played
  stop(): void
}

export function startStandIn(): StandIn {
  const stages = new Map<string, { readonly turn: Turn; readonly played: Played }>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const [, name = '', ...rest] = pathname.split('/')
      const stage = stages.get(name)
      const wire: Wire | undefined = WIRES[name as UpstreamName]
      if (!stage || !wire) return new Response('nobody plays here', { status: 500 })
      const body = (await request.json()) as Json
      const path = rest.join('/') + search
      stage.played.asked.push({ path, body })
      if (!/count[_-]tokens/.test(path)) return play(wire, stage, body, path)
      stage.played.counts++
      return Response.json({ input_tokens: 1_234, inputTokens: 1_234 })
    },
  })
  return {
    origin: `http://127.0.0.1:${server.port}`,
    begin(upstream, turn) {
      const played: Played = { paid: [], counts: 0, rounds: [], faults: [], asked: [] }
      stages.set(upstream, { turn, played })
      return played
    },
    stop: () => void server.stop(true),
  }
}

function play(
  wire: Wire,
  { turn, played }: { readonly turn: Turn; readonly played: Played },
  body: Json,
  path: string,
): Response {
  const heard = wire.hear(body, path)
  played.faults.push(...heard.faults)
  const answered = heard.rounds.filter(({ results }) => results.length > 0)
  if (answered.length > 0) played.rounds.push(...answered)
  const saying = sayingOf(turn, heard)
  const counted = countedOf(saying)
  played.paid.push(counted)
  if (!heard.stream) return Response.json(wire.whole(saying, counted, body))
  return new Response(wire.stream(saying, counted, body), {
    headers: { 'content-type': 'text/event-stream' },
  })
}

/** The calls where their tools are offered and not yet called; else the last word. */
function sayingOf({ calls, text }: Turn, { tools, rounds }: Heard): Saying {
  const isOffered = ({ tool }: ToolCall): boolean => tools.includes(tool)
  const isCalled = rounds.some(({ results }) => results.length > 0)
  return calls.length > 0 && calls.every(isOffered) && !isCalled ? { calls } : { text }
}
