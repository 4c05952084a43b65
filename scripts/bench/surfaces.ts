/**
 * Part `surfaces`: what the dialects beside chat cost. A native stream of the Messages API, by the chunk, beside one of chat; a turn of
 * Claude Code of 1 MB, and vectors of 2,048 texts, each beside the same bytes passed through.
 */
import { contenderOf, contest } from './compare.ts'
import type { Measured } from './process.ts'
import { type AnswerRoute, type Effort, type Part, type Rig, startBare } from './rig.ts'
import { claudeCodeTurn, embeddingInputs } from './surface-requests.ts'
import { CHUNKS } from './wires.ts'

const CHAT: AnswerRoute = { name: 'openai-rush', type: 'openai-compatible', stream: true }
const MESSAGES: AnswerRoute = {
  name: 'anthropic-rush',
  type: 'anthropic',
  stream: true,
  asks: { path: '/v1/messages', body: (model) => ({ ...HELLO, model, stream: true }) },
}
const HELLO = { max_tokens: 4_000, messages: [{ role: 'user', content: 'Why does it balance?' }] }

/** Each with the CPU that it may take, in times that of the bare proxy. */
const PASSED: readonly { title: string; route: AnswerRoute; limit: number }[] = [
  {
    title: 'a turn of Claude Code of 1 MB',
    route: {
      name: 'claude-turn',
      type: 'anthropic',
      stream: true,
      asks: { path: '/v1/messages', body: claudeCodeTurn },
    },
    limit: 1.3,
  },
  {
    title: 'vectors of 2,048 texts, in base64',
    route: {
      name: 'vectors',
      type: 'openai',
      stream: false,
      kind: 'embed',
      asks: { path: '/v1/embeddings', body: embeddingInputs },
    },
    limit: 1.5,
  },
]

/** More answers of 17 MB at once than a key's share of the memory budget holds would be refused. */
const CONNECTIONS = 4

export const surfaces: Part = {
  answers: [CHAT, MESSAGES, ...PASSED.map(({ route }) => route)],
  async run(rig, effort) {
    await streams(rig, effort)
    const parsing = await startBare(rig.mock.origin, 'parsing')
    try {
      return await passed(rig, effort, parsing)
    } finally {
      await parsing.stop()
    }
  },
}

async function passed(rig: Rig, { rounds, seconds }: Effort, parsing: Measured): Promise<boolean> {
  let isKept = true
  console.log(`\n${CONNECTIONS} connections: ms of CPU per answer`)
  for (const { title, route, limit } of PASSED) {
    const bare = contenderOf(rig, 'bare', route)
    const figures = await contest(
      {
        bare,
        parsing: { ...bare, pid: parsing.pid, target: { ...bare.target, origin: parsing.origin } },
        gateway: contenderOf(rig, 'gateway', route),
      },
      { rounds, connections: CONNECTIONS, until: { seconds } },
    )
    const millis = (which: 'bare' | 'parsing' | 'gateway'): string =>
      (figures.of(which, 'cpuMicros') / 1000).toFixed(2).padStart(6)
    const ratio = figures.ratio('cpuMicros', 'gateway', 'bare')
    isKept &&= ratio <= limit
    console.log(
      `  ${title.padEnd(34)} bare ${millis('bare')}   one that parses ${millis('parsing')}   gateway ${millis('gateway')}   ` +
        `gateway / bare ${ratio.toFixed(2)}, at most ${limit}: ${ratio <= limit ? 'kept' : 'BROKEN'}; ` +
        `parsing / bare ${figures.ratio('cpuMicros', 'parsing', 'bare').toFixed(2)}`,
    )
  }
  return isKept
}

async function streams(rig: Rig, { rounds, seconds, connections }: Effort): Promise<void> {
  const figures = await contest(
    {
      chat: contenderOf(rig, 'gateway', CHAT),
      messages: contenderOf(rig, 'gateway', MESSAGES),
      bare: contenderOf(rig, 'bare', MESSAGES),
    },
    { rounds, connections, until: { seconds } },
  )
  const perChunk = (which: 'chat' | 'messages' | 'bare'): string =>
    (figures.of(which, 'cpuMicros') / CHUNKS).toFixed(2)
  console.log(
    `\nfifty chunks at once, ${connections} streams, ${CHUNKS} chunks each: µs of CPU per chunk\n` +
      `  bare ${perChunk('bare')}   chat ${perChunk('chat')}   native messages ${perChunk('messages')}   ` +
      `messages / chat ${figures.ratio('cpuMicros', 'messages', 'chat').toFixed(2)}`,
  )
}
