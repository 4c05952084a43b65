/** A reader that stops reading is gone after a minute: its slot is free again, its upstream let go, its charge made. */
import { afterAll, expect, test } from 'vitest'
import {
  type Appliance,
  furnishCli,
  openHolds,
  readDatabase,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { dial, post } from '#test/support/raw-client.ts'
import { FULL } from '#test/support/tier.ts'

/** A minute without a byte taken, and the time that it takes to notice. */
const GONE_WITHIN_MS = 90_000

const cli = furnishCli(openCli())
let gateway: Appliance
let over = false

const piece = `data: ${JSON.stringify({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { content: 'word '.repeat(20_000) }, finish_reason: null }],
})}\n\n`

/** Speaks for as long as anybody takes it. */
const upstream = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  fetch: () =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(new TextEncoder().encode(piece)),
        cancel() {
          over = true
        },
      }),
      { headers: { 'content-type': 'text/event-stream' } },
    ),
})

afterAll(async () => {
  await gateway.kill()
  await upstream.stop(true)
  cli.close()
})

// It waits for the minute itself; server/hang-up.test.ts has the same with a shorter one.
test.runIf(FULL)(
  'a reader that stops reading cannot hold a slot for ever',
  {
    timeout: GONE_WITHIN_MS + 30_000,
  },
  async () => {
    gateway = await startAppliance(cli)
    await gateway.verb('providers.add', {
      name: 'acme',
      type: 'openai-compatible',
      base_url: upstream.url.origin,
      credential: null,
    })
    // An answer ends when it costs more than is held: this one holds enough for what fits between the two.
    const model = { model: 'acme/m', context_length: 1_000_000_000, in_usd: '1', out_usd: '0.1' }
    await gateway.verb('models.add', model)
    const { key } = await gateway.verb('keys.create', { name: 'worker', concurrency_limit: 1 })
    const client = dial(gateway.url)
    client.socket.pause()
    const body = { model: 'acme/m', stream: true, messages: [{ role: 'user', content: 'hi' }] }
    client.send(post('/v1/chat/completions', { Authorization: `Bearer ${key}` }, body))
    await until(() => openHolds(cli) === 1, 'it holds the only slot')
    const echo = { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }
    expect((await gateway.chat(key, echo)).status).toBe(429)

    await until(() => openHolds(cli) === 0, 'it is gone', GONE_WITHIN_MS)
    expect(over).toBe(true)
    expect((await gateway.chat(key, echo)).status).toBe(200)
    const [line] = readDatabase<{ ended_by: string; cost_nanos: number }>(
      cli,
      "SELECT ended_by, cost_nanos FROM activity WHERE model = 'acme/m'",
    )
    expect(line?.ended_by).toBe('client')
    expect(line?.cost_nanos).toBeGreaterThan(0)
    expect(cli.run(['audit']).code).toBe(0)
  },
)
