/** A running gateway whose clients hang up, and the checks that must hold each time, for any provider. */
import { expect } from 'vitest'
import {
  type ActivityRow,
  type Appliance,
  furnishCli,
  nanos,
  openHolds,
  readDatabase,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { dial, post, type RawClient } from '#test/support/raw-client.ts'
import type { UpstreamRequest } from '#test/support/synthetic-upstream.ts'

/** Within which everything follows. */
export const LET_GO_MS = 1_000

/** What is left of a request whose client hung up. */
export interface HangUp {
  readonly row: ActivityRow
  /** The words that the client had seen. */
  readonly text: string
  /** What it had asked. */
  readonly body: string
}

export interface HangUpGateway {
  readonly cli: CliHarness
  readonly gateway: Appliance
  /** Asks, hangs up once `ready`, and waits for all that must follow. */
  hangUp(model: string, stream: boolean, ready: (client: RawClient) => boolean): Promise<HangUp>
  close(): Promise<void>
}

/** Starts it with a model `name/m` for each base URL; `quick/m` is to answer at once. `requests` tells what the provider saw. */
export async function openHangUpGateway(
  baseUrls: Readonly<Record<string, string>>,
  requests: () => Promise<readonly UpstreamRequest[]>,
): Promise<HangUpGateway> {
  const cli = furnishCli(openCli())
  const gateway = await startAppliance(cli)
  for (const [name, baseUrl] of Object.entries(baseUrls)) {
    await gateway.verb('providers.add', {
      name,
      type: 'openai-compatible',
      base_url: baseUrl,
      credential: null,
    })
    await gateway.verb('models.add', { model: `${name}/m`, in_usd: '1', out_usd: '2' })
  }
  const askedOf = async (requestId: string): Promise<UpstreamRequest | undefined> =>
    (await requests()).find(({ headers }) => headers['x-request-id'] === requestId)

  async function hangUp(
    model: string,
    stream: boolean,
    ready: (client: RawClient) => boolean,
  ): Promise<HangUp> {
    const { key, id } = await gateway.verb('keys.create', { name: model, concurrency_limit: 1 })
    const requestId = `hang-up.${model.replace('/', '.')}.${stream}.${id}`
    const body = JSON.stringify({
      model,
      stream,
      messages: [{ role: 'user', content: 'hi there' }],
    })
    const client = dial(gateway.url)
    const headers = { Authorization: `Bearer ${key}`, 'X-Request-Id': requestId }
    client.send(post('/v1/chat/completions', headers, body))
    await until(async () => (await askedOf(requestId)) !== undefined, 'the upstream is asked')
    await until(() => ready(client), 'it is time to hang up')
    expect(await askedOf(requestId)).toMatchObject({ aborted: false, finished: false })
    client.hangUp()

    await until(
      async () => (await askedOf(requestId))?.aborted === true,
      'the upstream is let go',
      LET_GO_MS,
    )
    const readLine = () =>
      readDatabase<ActivityRow>(cli, 'SELECT * FROM activity WHERE request_id = ?', requestId)[0]
    // A young hold has no row yet, so that none there says nothing by itself.
    await until(() => readLine() !== undefined, 'the log has its line', LET_GO_MS)
    await until(() => openHolds(cli) === 0, 'the hold is resolved', LET_GO_MS)
    const row = readLine()
    if (!row) throw new Error('the log knows nothing of it')

    const info = await fetch(`${gateway.url}/v1/key`, { headers })
    expect(await info.json()).toMatchObject({
      usage: { requests_in_progress: 0, reserved_usd: '0' },
    })
    const [entry] = await gateway.verb('ledger.list', { key: id, kind: 'charge' })
    expect(nanos(entry?.amount_usd ?? '0')).toBe(-BigInt(row.cost_nanos))
    expect(entry?.generation_id).toBe(row.generation_id)
    // Its only place among the concurrent is free.
    const next = { model: 'quick/m', messages: [{ role: 'user', content: 'hi' }] }
    expect((await gateway.chat(key, next)).status).toBe(200)
    const text = [...client.received.matchAll(/"delta":\{"content":"([^"]*)"\}/g)]
      .map(([, piece]) => piece)
      .join('')
    return { row, text, body }
  }

  return {
    cli,
    gateway,
    hangUp,
    async close() {
      await gateway.kill()
      cli.close()
    },
  }
}

/** As the gateway estimates where the provider has not counted. */
export const tokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4)
