/** Bedrock and Vertex AI on the compiled program: added by a command, asked on every surface, charged exactly, and silent about their keys. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBedrock } from '#scripts/clouds/bedrock.ts'
import type { Front, Seen } from '#scripts/clouds/front.ts'
import { startVertex, type VertexFront } from '#scripts/clouds/vertex.ts'
import { type Appliance, chargesIn, furnishCli, startAppliance } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'

const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
const BEDROCK_KEY = {
  Version: 1,
  AccessKeyId: 'AKIDEXAMPLE',
  SecretAccessKey: SECRET,
  Region: 'us-east-1',
}
const ON_BEDROCK = 'bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0'
const ON_VERTEX = 'vertex/claude-haiku-4-5@20251001'
const GEMINI = 'vertex/gemini-2.5-flash'
const GPT = 'bedrock/openai.gpt-oss-120b-1:0'

const USAGE = { input_tokens: 1_000, output_tokens: 200, cache_read_input_tokens: 500 }
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-haiku-4-5-20251001',
  content: [{ type: 'text', text: 'Hello 🦊' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: USAGE,
}
const EVENTS = [
  {
    type: 'message_start',
    message: { ...MESSAGE, content: [], stop_reason: null, usage: { ...USAGE, output_tokens: 1 } },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'ping' },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello 🦊' } },
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 200 },
  },
  { type: 'message_stop' },
]
const SSE = EVENTS.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(
  '',
)

/** Both clouds answer as the vendors beneath them do. */
function vendor({ url, text }: Seen): Response {
  const { pathname } = url
  const isStream = /(?:-stream|:streamRawPredict)$/.test(pathname)
  if (pathname.includes('count')) {
    return Response.json({ input_tokens: 42, inputTokens: 42 })
  }
  if (pathname.includes('gemini')) {
    return Response.json({
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 1_000, candidatesTokenCount: 200, totalTokenCount: 1_200 },
    })
  }
  if (pathname.endsWith('/chat/completions')) {
    return Response.json({
      id: 'c1',
      object: 'chat.completion',
      created: 1,
      model: JSON.parse(text).model,
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1_000, completion_tokens: 200, total_tokens: 1_200 },
    })
  }
  return isStream
    ? new Response(SSE, { headers: { 'content-type': 'text/event-stream' } })
    : Response.json(MESSAGE)
}

const cli = furnishCli(openCli())
let bedrock: Front
let vertex: VertexFront
let gateway: Appliance
let key: string
let keyFile: string

/** Beside the clouds, which are in this process. */
const run = async (...args: readonly string[]) => {
  const { code, out, err } = await cli.runBeside(args)
  if (code !== 0) throw new Error(`${args.join(' ')}: ${err}`)
  return { out, err }
}

beforeAll(async () => {
  bedrock = startBedrock({ ask: vendor, keys: { AKIDEXAMPLE: { secret: SECRET } } })
  vertex = startVertex({ ask: vendor })
  keyFile = join(mkdtempSync(join(tmpdir(), 'vertex-')), 'key.json')
  writeFileSync(keyFile, vertex.keyFile)
  gateway = await startAppliance(cli)
  key = cli.run(['keys', 'create', 'app', '--allow', '*', '-q']).out.trim()
})
afterAll(async () => {
  await gateway?.stop()
  await bedrock?.stop()
  await vertex?.stop()
  cli.close()
})

describe('a provider of type bedrock', () => {
  test('is added with an access key, its models and their prices, and checked', async () => {
    const added = await cli.runBeside(['providers', 'add', 'bedrock', '--base-url', bedrock.url], {
      stdin: JSON.stringify(BEDROCK_KEY, null, 2),
    })
    expect(added.err).toContain('✓ added provider bedrock (bedrock)')
    expect(added.err).toContain('✓ key valid · 3 models, 3 of them priced here')
    expect(cli.json(['models', 'show', ON_BEDROCK])).toMatchObject({
      provider: 'bedrock',
      context_length: 200_000,
    })
  })

  test('is tested for a model, also by buying a token of it', async () => {
    const { out } = await run('providers', 'test', 'bedrock', '--spend', '--model', ON_BEDROCK)
    expect(out).toContain('ok')
  })
})

describe('a provider of type vertex', () => {
  test('is added with the key file of a service account', async () => {
    const added = await cli.runBeside([
      ...['providers', 'add', 'vertex', '--base-url', `${vertex.url}/v1`],
      ...['--key-file', keyFile],
    ])
    expect(added.err).toContain('✓ added provider vertex (vertex)')
    expect(added.err).toContain('✓ key valid · 3 models, 3 of them priced here')
  })

  test('is tested for a model', async () => {
    const { out } = await run('providers', 'test', 'vertex', '--spend', '--model', GEMINI)
    expect(out).toContain('ok')
  })
})

/** In nano-dollars. Claude: 1 and 5 dollars per million, cached 0.1; a region's profile a tenth more. */
const COSTS: Readonly<Record<string, number>> = { [ON_VERTEX]: 2_050_000, [ON_BEDROCK]: 2_255_000 }

describe.each([ON_BEDROCK, ON_VERTEX])('%s', (model) => {
  const client = () => new Anthropic({ baseURL: gateway.url, apiKey: key, maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'hi' }]

  test('streams to Anthropic’s own client, frame for frame', async () => {
    const raw = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages, max_tokens: 300, stream: true }),
    })
    expect(raw.headers.get('content-type')).toContain('text/event-stream')
    expect(await raw.text()).toBe(SSE)
    const stream = client().messages.stream({ model, messages, max_tokens: 300 })
    expect(await stream.finalText()).toBe('Hello 🦊')
  })

  test('costs what its card says, to the nano-dollar', async () => {
    const { data, response } = await client()
      .messages.create({ model, messages, max_tokens: 300 })
      .withResponse()
    expect(data).toEqual(MESSAGE)
    const generation = response.headers.get('x-generation-id') ?? ''
    const receipt = cli.json<{ charged_usd: string }>(['activity', 'show', generation])
    expect(receipt).toMatchObject({ model, provider: model.split('/')[0] })
    const charges = chargesIn(cli).filter(({ generation_id: id }) => id === generation)
    expect(charges.map(({ amount_nanos: nanos }) => nanos)).toEqual([-(COSTS[model] ?? 0)])
  })

  test('counts tokens', async () => {
    expect(await client().messages.countTokens({ model, messages })).toMatchObject({
      input_tokens: 42,
    })
  })

  test('answers chat', async () => {
    const answer = await gateway.chat(key, { model, messages, max_tokens: 300 })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({
      choices: [{ message: { content: 'Hello 🦊' } }],
      usage: { prompt_tokens: 1_500, completion_tokens: 200 },
    })
  })
})

test.each([GPT, GEMINI])('%s answers chat', async (model) => {
  const body = { model, messages: [{ role: 'user', content: 'hi' }] }
  const answer = await gateway.chat(key, body)
  expect(await answer.json()).toMatchObject({ choices: [{ message: { content: 'Hi' } }] })
})

describe('keys of the operator', () => {
  test('are in no list, export, log or backup of names', async () => {
    const privateKey = JSON.parse(readFileSync(keyFile, 'utf8')).private_key.slice(40, 80)
    const shown = [
      gateway.said(),
      ...[
        ['providers', '--json'],
        ['export'],
        ['activity', 'acts', '--json'],
        ['doctor', '--json'],
      ].map((args) => cli.run(args).out),
    ].join('\n')
    expect(shown).toContain('bedrock')
    for (const secret of [SECRET, 'AKIDEXAMPLE', privateKey, 'ya29.']) {
      expect(shown).not.toContain(secret)
    }
  })

  test('that are refused are 502 on every surface, and say nothing of themselves', async () => {
    const edited = await cli.runBeside(['providers', 'edit', 'bedrock', '--key-file', '-'], {
      stdin: JSON.stringify({ ...BEDROCK_KEY, SecretAccessKey: 'another' }),
    })
    expect(edited.code).toBe(0)
    const body = { model: ON_BEDROCK, messages: [{ role: 'user', content: 'hi' }], max_tokens: 9 }
    const chat = await gateway.chat(key, body)
    expect(chat.status).toBe(502)
    const native = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(native.status).toBe(502)
    const said = (await chat.text()) + (await native.text())
    expect(said).toContain("the gateway's own account with bedrock does not work")
    expect(said).not.toContain('AKID')
    const tested = await cli.runBeside(['providers', 'test', 'bedrock'])
    expect(tested.code).toBe(6)
  })
})

describe('what is typed', () => {
  const refused = async (args: readonly string[], stdin: string) => {
    const { code, err } = await cli.runBeside(['providers', ...args], { stdin })
    expect(code).toBe(2)
    return err
  }

  test('a region is an address', async () => {
    await cli.runBeside(
      ['providers', 'add', 'eu', '--type', 'bedrock', '--region', 'eu-central-1', '--no-check'],
      {
        stdin: 'bedrock-api-key-1',
      },
    )
    expect(cli.json(['providers', 'show', 'eu'])).toMatchObject({
      base_url: 'https://bedrock-runtime.eu-central-1.amazonaws.com',
    })
    const place = ['--type', 'vertex', '--region', 'europe-west1', '--project', 'my-project']
    await run('providers', 'add', 'gcp', ...place, '--no-key', '--no-check')
    expect(cli.json(['providers', 'show', 'gcp'])).toMatchObject({
      base_url:
        'https://europe-west1-aiplatform.googleapis.com/v1/projects/my-project/locations/europe-west1',
      has_credential: false,
    })
    await cli.runBeside(['providers', 'edit', 'eu', '--region', 'us-west-2', '--key-file', '-'], {
      stdin: 'bedrock-api-key-2',
    })
    expect(cli.json(['providers', 'show', 'eu'])).toMatchObject({
      base_url: 'https://bedrock-runtime.us-west-2.amazonaws.com',
    })
  })

  test('what cannot be used is refused at once, and says why', async () => {
    const json = JSON.stringify({ AccessKeyId: 'AKID', SecretAccessKey: 's' })
    const at = ['--base-url', 'http://127.0.0.1:9']
    expect(await refused(['add', 'x', '--type', 'openai'], json)).toContain('one line')
    expect(await refused(['add', 'x', '--type', 'bedrock', ...at], json)).toContain('names none')
    expect(await refused(['add', 'x', '--type', 'bedrock'], '{"AccessKeyId":"A"}')).toContain(
      'belong together',
    )
    expect(await refused(['add', 'x', '--type', 'vertex'], 'AIzaSy')).toContain('service account')
    expect(await refused(['add', 'x', '--type', 'openai', '--region', 'eu'], 'k')).toContain(
      'has no region',
    )
    expect(
      await refused(['add', 'x', '--type', 'vertex', '--region', 'eu', ...at], vertex.keyFile),
    ).toContain('exclude each other')
    const noProject = ['add', 'x', '--type', 'vertex', '--no-key']
    expect(await refused(noProject, '')).toContain('nothing names the project')
  })

  test('doctor finds the names that Claude Code asks for', () => {
    const { findings } = cli.json<{ findings: { check: string; next: string | null }[] }>([
      'doctor',
    ])
    const next = findings.filter(({ check }) => check === 'aliases').map((finding) => finding.next)
    expect(next).toContain(
      'gatewayctl models alias claude-opus-4-8 bedrock/anthropic.claude-opus-4-8',
    )
  })

  test('an export of them is a file that changes nothing', async () => {
    const file = join(cli.home, 'gateway.toml')
    writeFileSync(file, cli.run(['export']).out)
    const { err } = await run('apply', '-f', file, '--dry-run')
    expect(err).toContain('nothing to change')
  })
})
