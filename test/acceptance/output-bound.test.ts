/** Servers that know one word for the bound of an answer, or none: what each is sent by the compiled program, at once and later. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'

type Sent = Readonly<Record<string, unknown>>

/** What a server answers to a body that it refuses; null for one that it takes, by its own bound. */
interface Server {
  readonly refusal: (sent: Sent) => Response | null
  readonly bound: (sent: Sent) => number | null
}

const OLD = 'max_tokens'
const NEW = 'max_completion_tokens'
const has = (sent: Sent, word: string): boolean => sent[word] !== undefined
const boundOf = (sent: Sent, word: string): number | null =>
  typeof sent[word] === 'number' ? sent[word] : null
const refuse = (word: string): Response =>
  Response.json(
    {
      error: {
        message: `Unsupported parameter: '${word}' is not supported with this model.`,
        type: 'invalid_request_error',
        param: word,
        code: 'unsupported_parameter',
      },
    },
    { status: 400 },
  )

const SERVERS = {
  'only-old': { refusal: () => null, bound: (sent) => boundOf(sent, OLD) },
  'refuses-old': {
    refusal: (sent) => (has(sent, OLD) ? refuse(OLD) : null),
    bound: (sent) => boundOf(sent, NEW),
  },
  'refuses-new': {
    refusal: (sent) => (has(sent, NEW) ? refuse(NEW) : null),
    bound: (sent) => boundOf(sent, OLD),
  },
  strict: {
    refusal: (sent) =>
      has(sent, NEW)
        ? Response.json(
            {
              detail: [
                {
                  type: 'extra_forbidden',
                  loc: ['body', NEW],
                  msg: 'Extra inputs are not permitted',
                  input: sent[NEW],
                },
              ],
            },
            { status: 422 },
          )
        : null,
    bound: (sent) => boundOf(sent, OLD),
  },
  excludes: {
    refusal: (sent) =>
      has(sent, OLD) && has(sent, NEW)
        ? Response.json(
            { error: { message: `${OLD} and ${NEW} cannot both be set` } },
            { status: 400 },
          )
        : null,
    bound: (sent) => boundOf(sent, NEW) ?? boundOf(sent, OLD),
  },
  /** 200,000 output tokens are too many for it, in whichever word. */
  narrow: {
    refusal: (sent) => {
      const bound = boundOf(sent, OLD) ?? boundOf(sent, NEW) ?? 0
      return bound > 4_096
        ? Response.json(
            { error: { message: `max_tokens is too large: ${bound}`, param: OLD } },
            { status: 400 },
          )
        : null
    },
    bound: (sent) => boundOf(sent, OLD),
  },
  ignores: { refusal: () => null, bound: () => null },
} satisfies Readonly<Record<string, Server>>

type Name = keyof typeof SERVERS

/** What a model says that nothing bounds. */
const LONG = 40

/** All servers on one socket, each below its name; a word is a token. */
function startServers() {
  const seen: Record<string, Sent[]> = {}
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const name = new URL(request.url).pathname.split('/')[1] as Name
      const sent = (await request.json()) as Sent
      seen[name] ??= []
      seen[name].push(sent)
      const { refusal, bound } = SERVERS[name]
      const refused = refusal(sent)
      if (refused) return refused
      const count = Math.min(LONG, bound(sent) ?? LONG)
      const usage = { prompt_tokens: 3, completion_tokens: count, total_tokens: 3 + count }
      const finish_reason = count < LONG ? 'length' : 'stop'
      const words = Array.from({ length: count }, () => 'word ')
      if (sent['stream'] !== true) {
        const message = { role: 'assistant', content: words.join('') }
        return Response.json({ choices: [{ index: 0, message, finish_reason }], usage })
      }
      const events = [
        ...words.map((content) => ({ choices: [{ index: 0, delta: { content } }] })),
        { choices: [{ index: 0, delta: {}, finish_reason }] },
        { choices: [], usage },
      ]
      const text = [...events.map((event) => JSON.stringify(event)), '[DONE]']
      return new Response(text.map((data) => `data: ${data}\n\n`).join(''), {
        headers: { 'content-type': 'text/event-stream' },
      })
    },
  })
  return {
    url: (name: Name) => `http://127.0.0.1:${server.port}/${name}`,
    /** The two words of each request that the server has seen. */
    words: (name: Name) => (seen[name] ?? []).map((sent) => [sent[OLD], sent[NEW]]),
    forget: () => {
      for (const name of Object.keys(seen)) delete seen[name]
    },
    stop: () => server.stop(true),
  }
}

const cli = openCli()
const servers = startServers()
let gateway: Appliance
let key = ''

beforeAll(async () => {
  furnishCli(cli)
  gateway = await startAppliance(cli)
  key = (await gateway.verb('keys.create', { name: 'app' })).key
})
afterAll(async () => {
  await gateway?.stop()
  servers.stop()
  cli.close()
})

async function provide(
  server: Name,
  name: string = server,
  max_completion_tokens: number | null = null,
): Promise<string> {
  await gateway.verb('providers.add', {
    name,
    type: 'openai-compatible',
    base_url: servers.url(server),
    credential: null,
  })
  await gateway.verb('models.add', {
    model: `${name}/m`,
    in_usd: '1',
    out_usd: '2',
    max_completion_tokens,
  })
  onTestFinished(servers.forget)
  return `${name}/m`
}

const MESSAGES = [{ role: 'user', content: 'go' }] as const

/** What came of a request with that bound: its words, and how it ended. */
async function ask(model: string, bound: number, more: object = {}) {
  const body = { model, messages: MESSAGES, [NEW]: bound, ...more }
  const response = await gateway.chat(key, body)
  const answer = (await response.json()) as {
    choices: { finish_reason: string }[]
    usage: { completion_tokens: number }
    error?: { code: string }
  }
  return response.status === 200
    ? [answer.usage.completion_tokens, answer.choices[0]?.finish_reason]
    : [response.status, answer.error?.code]
}

async function stream(model: string, bound: number) {
  const chunks = await gateway.client(key).chat.completions.create({
    model,
    messages: [...MESSAGES],
    max_tokens: bound,
    stream: true,
  })
  let words = 0
  let finish: string | null = null
  for await (const { choices } of chunks) {
    if (choices[0]?.delta.content) words++
    finish = choices[0]?.finish_reason ?? finish
  }
  return [words, finish]
}

const shown = async (name: string) => {
  const { output_bound, output_bound_source } = await gateway.verb('providers.show', { name })
  return [output_bound, output_bound_source]
}

test('T43: a server that knows only max_tokens obeys max_completion_tokens: 1', async () => {
  const model = await provide('only-old')
  expect(await ask(model, 1)).toEqual([1, 'length'])
  expect(await stream(model, 2)).toEqual([2, 'length'])
  expect(servers.words('only-old')).toEqual([
    [1, 1],
    [2, 2],
  ])
  expect(await shown('only-old')).toEqual(['both', 'default'])
})

describe.each<[Name, string]>([
  ['refuses-old', NEW],
  ['refuses-new', OLD],
  ['strict', OLD],
  ['excludes', NEW],
])('a server that %s', (server, word) => {
  const alone = (bound: number) => (word === OLD ? [bound, undefined] : [undefined, bound])

  test(`is sent ${word} alone from then on, and after a restart`, async () => {
    const model = await provide(server)
    // Another node knows once it is stored.
    gateway.pin(0)
    onTestFinished(() => gateway.pin(null))
    // "Exactly one attempt" is still one: no answer had begun.
    expect(await ask(model, 5, { allow_fallbacks: false })).toEqual([5, 'length'])
    expect(await stream(model, 6)).toEqual([6, 'length'])
    expect(servers.words(server)).toEqual([[5, 5], alone(5), alone(6)])
    await until(async () => (await shown(server))[1] === 'learned', 'it is stored')
    expect(await shown(server)).toEqual([word, 'learned'])
    gateway.pin(1)
    expect(await ask(model, 7)).toEqual([7, 'length'])
    await gateway.kill()
    gateway = await startAppliance(cli)
    expect(await ask(model, 8)).toEqual([8, 'length'])
    expect(servers.words(server).slice(3)).toEqual([alone(7), alone(8)])
  })

  test('answers twenty at first contact, streams too', async () => {
    const name = `${server}-20`
    const model = await provide(server, name)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? ask(model, 5) : stream(model, 5))),
    )
    expect(answers).toEqual(Array(20).fill([5, 'length']))
    await until(async () => (await shown(name))[1] === 'learned', 'it is stored')
    expect(await shown(name)).toEqual([word, 'learned'])
  })
})

test('a bound that is too large for a server is the caller’s error, and teaches nothing', async () => {
  const model = await provide('narrow', 'narrow', 200_000)
  expect(await ask(model, 200_000)).toEqual([400, 'invalid_request'])
  expect(servers.words('narrow')).toEqual([[200_000, 200_000]])
  expect(await shown('narrow')).toEqual(['both', 'default'])
})

test('a server that ignores its bound is charged as counted; once stated, it is sent none', async () => {
  const model = await provide('ignores')
  expect(await ask(model, 5)).toEqual([LONG, 'stop'])
  const { code, out } = cli.run(['providers', 'edit', 'ignores', '--output-bound', 'none'])
  expect([code, out]).toEqual([0, 'ignores: output bound both → none\n'])
  await gateway.verb('models.remove', { model })
  await gateway.verb('models.add', { model, in_usd: '1', out_usd: '2', max_completion_tokens: 64 })
  expect(await ask(model, 5)).toEqual([LONG, 'stop'])
  expect(servers.words('ignores')).toEqual([
    [5, 5],
    [undefined, undefined],
  ])
  expect(cli.run(['providers', 'show', 'ignores']).out).toMatch(/^output bound\tnone \(stated\)$/m)
})

test('what was learnt is forgotten with the address, and the operator’s word stands', async () => {
  const model = await provide('refuses-old', 'moved')
  await ask(model, 5)
  await until(async () => (await shown('moved'))[1] === 'learned', 'it is stored')
  await gateway.verb('providers.edit', { name: 'moved', base_url: servers.url('strict') })
  expect(await shown('moved')).toEqual(['both', 'default'])
  await gateway.verb('providers.edit', { name: 'moved', output_bound: 'max_tokens' })
  expect(await ask(model, 5)).toEqual([5, 'length'])
  expect(servers.words('strict')).toEqual([[5, undefined]])
  await gateway.verb('providers.edit', { name: 'moved', output_bound: null })
  expect(await shown('moved')).toEqual(['both', 'default'])
  const wrong = cli.run(['providers', 'edit', 'moved', '--output-bound', 'n'])
  expect([wrong.code, wrong.err]).toEqual([
    2,
    'error: --output-bound is one of max_tokens, max_completion_tokens, both, none, auto (got "n")\n',
  ])
})
