/** One client script, one conversation with tools, three wires: it cannot tell them apart, and each provider hears its own. */
import type OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ProviderType } from '#domain/provider.ts'
import {
  type Appliance,
  furnishCli,
  nanos,
  openHolds,
  priced,
  startAppliance,
} from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { type Actor, startActor, type Wire } from './tool-conversation/actor.ts'
import { ANTHROPIC } from './tool-conversation/anthropic.ts'
import { GEMINI } from './tool-conversation/gemini.ts'
import { OPENAI } from './tool-conversation/openai.ts'
import { COUNTS, FOLLOW_UP, QUESTION, STEPS, SYSTEM, TOOLS } from './tool-conversation/scene.ts'

const CAST: Readonly<Record<string, readonly [type: ProviderType, model: string, wire: Wire]>> = {
  openai: ['openai-compatible', 'gpt-played', OPENAI],
  anthropic: ['anthropic', 'claude-haiku-4-5', ANTHROPIC],
  gemini: ['google', 'gemini-3-flash-preview', GEMINI],
}

const cli = openCli()
const actors = new Map<string, Actor>()
let gateway: Appliance

beforeAll(async () => {
  furnishCli(cli)
  gateway = await startAppliance(cli)
  for (const [name, [type, upstream, wire]] of Object.entries(CAST)) {
    const actor = await startActor(wire)
    actors.set(name, actor)
    await gateway.verb('providers.add', {
      name,
      type,
      base_url: actor.url,
      credential: `sk-${name}`,
    })
    await gateway.verb('models.add', {
      model: `${name}/played`,
      upstream,
      in_usd: '1',
      out_usd: '5',
      cached_in_usd: '0.1',
    })
  }
})
afterAll(async () => {
  await gateway?.kill()
  for (const actor of actors.values()) await actor.stop()
  cli.close()
})

/** What the script writes down of each answer. */
interface Turn {
  readonly text: string
  readonly calls: readonly string[]
  readonly finish: string | undefined
  readonly usage: unknown
}

/** Asks, carries out whatever is called until nothing more is, and asks once more. It knows nothing of providers. */
async function converse(client: OpenAI, model: string, stream: boolean): Promise<readonly Turn[]> {
  const turns: Turn[] = []
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: QUESTION },
  ]
  const ask = async () => {
    const body = {
      model,
      messages,
      tools: TOOLS.map(({ name, description, parameters }) => ({
        type: 'function' as const,
        function: { name, description, parameters },
      })),
      reasoning_effort: 'low' as const,
      max_completion_tokens: 4_000,
    }
    const { choices, usage } = stream
      ? await client.chat.completions.stream(body).finalChatCompletion()
      : await client.chat.completions.create(body)
    const [choice] = choices
    if (!choice) throw new Error('an answer without a choice')
    messages.push(choice.message)
    const calls = (choice.message.tool_calls ?? []).flatMap((call) =>
      call.type === 'function' ? [call] : [],
    )
    turns.push({
      text: choice.message.content ?? '',
      calls: calls.map(({ function: called }) => `${called.name} ${called.arguments}`),
      finish: choice.finish_reason,
      usage,
    })
    return calls
  }
  for (let calls = await ask(); calls.length > 0; calls = await ask()) {
    for (const { id, function: called } of calls) {
      const tool = TOOLS.find(({ name }) => name === called.name)
      const content = tool?.carryOut(JSON.parse(called.arguments)) ?? 'no such tool'
      messages.push({ role: 'tool', tool_call_id: id, content })
    }
  }
  messages.push({ role: 'user', content: FOLLOW_UP })
  await ask()
  return turns
}

const priceOf = ({ prompt, cached, output }: (typeof COUNTS)[number]): bigint =>
  priced([prompt - cached, '1'], [cached, '0.1'], [output, '5'])

const EXPECTED = STEPS.map(({ text = '', calls = [] }, step) => {
  const { prompt, cached, output, thinking } = COUNTS[step] ?? { prompt: 0, output: 0 }
  return {
    text,
    calls: calls.map(({ name, args }) => `${name} ${JSON.stringify(args)}`),
    finish: calls.length > 0 ? 'tool_calls' : 'stop',
    usage: {
      prompt_tokens: prompt,
      completion_tokens: output,
      total_tokens: prompt + output,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens_details: { reasoning_tokens: thinking },
      cost_details: { source: 'provider' },
    },
  }
})

describe.each(Object.keys(CAST))('on a provider that speaks %s', (name) => {
  test.each([
    ['whole', false],
    ['streamed, every wide character cut in two', true],
  ] as const)('%s', async (_, stream) => {
    const actor = actors.get(name)
    actor?.begin(stream)
    const { key, id } = await gateway.verb('keys.create', { name: `${name}-${stream}` })
    const conversing = converse(gateway.client(key), `${name}/played`, stream)
    const turns = await conversing.catch((thrown: unknown) => thrown)
    expect(actor?.complaints).toEqual([])
    expect(turns).toMatchObject(EXPECTED)
    expect(actor?.played).toBe(STEPS.length)

    const charges = await gateway.verb('ledger.list', { key: id, kind: 'charge', limit: 100 })
    const amounts = charges.map(({ amount_usd: amount }) => -nanos(amount))
    expect(amounts.toSorted()).toEqual(COUNTS.map(priceOf).toSorted())
    expect(openHolds(cli)).toBe(0)
  })
})
