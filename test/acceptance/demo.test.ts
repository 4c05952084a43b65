/** The first minute of a stranger: `serve --demo` says what to paste, and what it says works. */
import { existsSync } from 'node:fs'
import { inflateSync } from 'node:zlib'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Appliance, startAppliance, until } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { readSse } from '#test/support/read-sse.ts'
import { openBrowser } from './signin/browser.ts'

const cli = openCli()
let demos: Appliance[] = []

interface Demo {
  readonly gateway: Appliance
  readonly baseURL: string
  readonly key: string
  /** The commands between "models" and "listening", as printed. */
  readonly commands: string
}

/** A demo of its own, because each has ten requests a minute. */
async function startDemo(): Promise<Demo> {
  const gateway = await startAppliance(cli, { flags: ['--demo'] })
  demos.push(gateway)
  const said = gateway.said()
  return {
    gateway,
    baseURL: /^ {2}base URL {3}(\S+)$/m.exec(said)?.[1] ?? '',
    key: /^ {2}key {8}(\S+) /m.exec(said)?.[1] ?? '',
    commands: said.slice(said.indexOf('  export '), said.indexOf('listening')),
  }
}

afterAll(async () => {
  await Promise.all(demos.map((demo) => demo.kill()))
  demos = []
  cli.close()
})

const bash = (script: string): { code: number; out: string } => {
  const { exitCode, stdout } = Bun.spawnSync(['bash', '-eu', '-c', script], {
    cwd: cli.home,
    env: { PATH: process.env['PATH'] ?? '' },
  })
  return { code: exitCode, out: stdout.toString() }
}

describe('what the banner says', () => {
  let demo: Demo
  beforeAll(async () => {
    demo = await startDemo()
  })

  test('has a base URL, a key and the models', () => {
    expect(demo.baseURL).toBe(`${demo.gateway.url}/v1`)
    expect(demo.key).toMatch(/^if-[0-9A-Za-z]{49}$/)
    expect(demo.gateway.said()).toContain('demo/echo  demo/flaky  demo/image  demo/lorem')
  })

  test('works as pasted: the variables, the whole answer, the stream', () => {
    const [variables = '', ...curls] = demo.commands
      .replaceAll('\\\n', ' ')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
    expect(curls).toHaveLength(2)

    const whole = bash(curls[0] ?? '')
    expect(whole.code).toBe(0)
    expect(JSON.parse(whole.out)).toMatchObject({
      model: 'demo/echo',
      choices: [{ message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, cost: 0.000003, cost_rub: 0.00027 },
    })
    const stream = bash(curls[1] ?? '')
    expect(stream.code).toBe(0)
    const { done, text, chunks } = readSse(stream.out)
    expect([done, text.trim().split(' ').length]).toEqual([true, 64])
    expect(chunks.at(-1)?.usage).toMatchObject({ completion_tokens: 64 })

    // The exported variables are those that the stock client reads by itself.
    const told = bash(`${variables}; echo "$OPENAI_BASE_URL $OPENAI_API_KEY"`)
    expect(told.out).toBe(`${demo.baseURL} ${demo.key}\n`)
  })

  test('works in one paste, both commands at once', () => {
    const { code, out } = bash(demo.commands)
    expect(code).toBe(0)
    expect(out).toContain('"content":"hi"')
    expect(out.trimEnd().endsWith('data: [DONE]')).toBe(true)
    expect(existsSync(cli.dataDir)).toBe(false)
  })
})

test('the cabinet’s address and the printed code lead to screens that live', async () => {
  const demo = await startAppliance(cli, { flags: ['--demo', '--auth-listen', '127.0.0.1:0'] })
  demos.push(demo)
  const [, address = '', email = ''] =
    /^ {2}cabinet {4}(\S+) +\(as (\S+)\)$/m.exec(demo.said()) ?? []
  const browser = openBrowser(new URL(address).origin)
  const asked = await browser.submit(await browser.open(address), '/email', { email })
  const said = () => /^sign-in code for (\S+): (\d{8})$/m.exec(demo.said())
  await until(() => said()?.[1] === email, 'the code is printed')
  const landed = await browser.submit(asked, '/code', { code: said()?.[2] ?? '' })
  const onward = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(landed.text)?.[1] ?? ''
  const overview = await browser.open(onward.replaceAll('&amp;', '&'))
  expect(overview.text).toContain('data-figure="balance"')
  const lives = async () => (await browser.open('/cabinet/activity')).text.includes('demo-traffic')
  await until(lives, 'its traffic is there', 60_000)
}, 90_000)

/** Width, height and pixels of a PNG; throws when its structure is not one. */
function decodePng(bytes: Buffer): { width: number; height: number; pixels: Buffer } {
  expect(bytes.subarray(0, 8)).toEqual(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))
  const chunks = new Map<string, Buffer>()
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    const named = bytes.subarray(at + 4, at + 8 + length)
    expect(Bun.hash.crc32(named)).toBe(bytes.readUInt32BE(at + 8 + length))
    chunks.set(named.toString('latin1', 0, 4), named.subarray(4))
    at += 12 + length
  }
  expect([...chunks.keys()]).toEqual(['IHDR', 'IDAT', 'IEND'])
  const header = chunks.get('IHDR') as Buffer
  const pixels = inflateSync(chunks.get('IDAT') as Buffer)
  return { width: header.readUInt32BE(0), height: header.readUInt32BE(4), pixels }
}

describe('images', () => {
  let client: OpenAI
  beforeAll(async () => {
    const { key, baseURL } = await startDemo()
    client = new OpenAI({ apiKey: key, baseURL, maxRetries: 0 })
  })
  const draw = (more: object = {}) =>
    client.chat.completions.create({
      model: 'demo/image',
      messages: [{ role: 'user', content: 'a red fox' }],
      ...{ modalities: ['image'] as never, allow_fallbacks: false },
      ...more,
    })

  test('arrive whole, as data that can be decoded, at a cent apiece', async () => {
    const { choices, usage } = (await draw()) as OpenAI.ChatCompletion
    const message = choices[0]?.message as unknown as {
      content: string
      images: { type: string; index: number; image_url: { url: string } }[]
    }
    expect(message.content).toBe('')
    expect(message.images).toHaveLength(1)
    expect(message.images[0]).toMatchObject({ type: 'image_url', index: 0 })
    const [head, data = ''] = message.images[0]?.image_url.url.split(',') ?? []
    expect(head).toBe('data:image/png;base64')
    const { width, height, pixels } = decodePng(Buffer.from(data, 'base64'))
    expect([width, height]).toEqual([256, 256])
    expect(pixels).toHaveLength(height * (1 + 3 * width))
    expect(new Set(pixels).size).toBeGreaterThan(16)
    expect(usage).toMatchObject({ images: 1, completion_tokens: 0, cost: 0.01, cost_rub: 0.9 })
  })

  test('cannot be streamed', async () => {
    await expect(draw({ stream: true })).rejects.toMatchObject({
      status: 400,
      code: 'image_streaming_not_supported',
      param: 'stream',
      type: 'invalid_request_error',
    })
  })
})

describe('limits', () => {
  test('the eleventh request of a minute is refused, and the headers count down to it', async () => {
    const { gateway, key } = await startDemo()
    const hello = { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }
    const left: (string | null)[] = []
    for (let i = 0; i < 10; i++) {
      const answer = await gateway.chat(key, hello)
      expect(answer.status).toBe(200)
      left.push(answer.headers.get('x-ratelimit-remaining-minute'))
    }
    expect(left).toEqual(['9', '8', '7', '6', '5', '4', '3', '2', '1', '0'])
    const refused = await gateway.chat(key, hello)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('x-ratelimit-remaining-minute')).toBe('0')
    const seconds = Number(refused.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(50)
    expect(seconds).toBeLessThanOrEqual(60)
    expect(await refused.json()).toMatchObject({
      error: { code: 'rate_limit_exceeded', metadata: { limit: 'rpm_limit', limit_value: 10 } },
    })
  })

  test('it ends with 0 and leaves nothing on the disk', async () => {
    const { gateway } = await startDemo()
    expect(await gateway.stop()).toBe(0)
    expect(existsSync(cli.dataDir)).toBe(false)
  })
})
