/** kill -9 under load, again and again: every answer that a client saw whole is in the ledger, and nothing is left behind. */
import { connect } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import {
  type Appliance,
  chargesIn,
  furnishCli,
  nanos,
  openHolds,
  priced,
  readDatabase,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { post } from '#test/support/raw-client.ts'
import { oks, startSyntheticUpstream } from '#test/support/synthetic-upstream.ts'
import { FULL } from '#test/support/tier.ts'

const ROUNDS = FULL ? 50 : 3
const CLIENTS = 12
const MIN_MS = 20
const MAX_MS = 200
const CHARGE = priced([100, '1'], [20, '2'])
const MINUTE_MS = 60_000

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31))
let state = seed
/** mulberry32: the same rounds again from the same seed. */
function random(): number {
  state = (state + 0x6d2b79f5) | 0
  let bits = Math.imul(state ^ (state >>> 15), 1 | state)
  bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
  return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
}

const upstream = await startSyntheticUpstream({
  acme: { kind: 'chat', promptTokens: 100, completionTokens: 20, chunks: oks(4), gapMs: 2 },
})
const cli = openCli()
let gateway: Appliance

afterAll(async () => {
  await gateway?.kill()
  await upstream.stop()
  cli.close()
})

/** Generations whose answers arrived to their very last byte. */
const answered = new Set<string>()
/** When each of them was known to have been admitted. */
const answeredMs: number[] = []
/** Answers that have begun to arrive. */
let arriving = 0
let unfinished = 0
/** References of top-ups that an operator was told had been applied. */
const acknowledged = new Set<string>()

const COMPLETE_STREAM = /data: \[DONE\]\n\n/

/** One request on a socket of its own, read byte by byte, so that nothing between us and it can finish an answer. */
function ask(url: string, key: string, stream: boolean): Promise<boolean> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    let got = ''
    let over = false
    const askedMs = Date.now()
    socket.on('connect', () =>
      socket.write(
        post(
          '/v1/chat/completions',
          { Authorization: `Bearer ${key}` },
          { model: 'acme/m', stream, messages: [{ role: 'user', content: 'hi' }] },
        ),
      ),
    )
    const end = (): void => {
      if (over) return
      over = true
      const id = /^x-generation-id: (\S+)\r$/im.exec(got)?.[1]
      const whole = got.startsWith('HTTP/1.1 200') && isWhole(got, stream)
      if (id !== undefined && whole) {
        answered.add(id)
        answeredMs.push(askedMs)
      }
      if (got !== '') arriving--
      if (got !== '' && !whole) unfinished++
      socket.destroy()
      resolve(whole)
    }
    socket.on('data', (bytes) => {
      if (over) return
      if (got === '') arriving++
      got += bytes.toString()
      if (isWhole(got, stream)) end()
    })
    socket.on('error', end)
    socket.on('close', end)
  })
}

function isWhole(got: string, stream: boolean): boolean {
  if (stream) return COMPLETE_STREAM.test(got)
  const head = got.indexOf('\r\n\r\n')
  const length = /^content-length: (\d+)\r$/im.exec(got.slice(0, head + 2))?.[1]
  return (
    head > 0 && length !== undefined && Buffer.byteLength(got.slice(head + 4)) >= Number(length)
  )
}

async function load(url: string, key: string, stopped: () => boolean): Promise<void> {
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, place) => {
      while (!stopped()) await ask(url, key, place % 2 === 0)
    }),
  )
}

/** An operator puts money in, again and again, until the gateway is gone. */
async function topUp(round: number): Promise<void> {
  for (let i = 0; ; i++) {
    const ref = `INVOICE-${round}.${i}`
    try {
      await gateway.verb('balance.top-up', { amount_usd: '0.001', ref })
    } catch {
      return
    }
    acknowledged.add(ref)
  }
}

describe('a gateway that is killed', () => {
  test(`${ROUNDS} times under load loses no charge of an answered request`, {
    timeout: 120_000,
  }, async () => {
    process.stdout.write(`kill: seed ${seed} (SEED=${seed} repeats it)\n`)
    furnishCli(cli)
    gateway = await startAppliance(cli)
    await gateway.verb('providers.add', {
      name: 'acme',
      type: 'openai-compatible',
      base_url: upstream.baseUrls.acme,
      credential: null,
    })
    await gateway.verb('models.add', { model: 'acme/m', in_usd: '1', out_usd: '2' })
    const { key, id } = await gateway.verb('keys.create', { name: 'load', rpm_limit: 100_000 })

    for (let round = 1; round <= ROUNDS; round++) {
      const before = answered.size
      let stopped = false
      const loading = load(gateway.url, key, () => stopped)
      const operating = topUp(round)
      // From the first answer on, so that every round kills a gateway that is at work.
      await until(() => answered.size > before, 'the load runs')
      await Bun.sleep(MIN_MS + random() * (MAX_MS - MIN_MS))
      await until(() => arriving > 2, 'it has answers to break off')
      stopped = true
      await gateway.kill()
      await Promise.all([loading, operating])

      gateway = await startAppliance(cli)
      expect(openHolds(cli)).toBe(0)
      // Any answer of the round: its bytes had left, so its charge was there before it.
      expect(missingCharges()).toEqual([])
      expect(missingTopUps()).toEqual([])
    }

    // Each round broke something off: otherwise nothing has been tried.
    expect(unfinished).toBeGreaterThan(ROUNDS)
    expect(answered.size).toBeGreaterThan(ROUNDS * 5)
    expect(acknowledged.size).toBeGreaterThan(ROUNDS)

    const entries = readDatabase<{ kind: string; amount_nanos: number; n: number }>(
      cli,
      'SELECT kind, amount_nanos, count(*) AS n FROM ledger GROUP BY 1, 2',
    )
    const whole = entries.find(({ amount_nanos: nanos }) => nanos === -Number(CHARGE))
    expect(whole?.n).toBeGreaterThanOrEqual(answered.size)
    const sum = entries.reduce(
      (total, { amount_nanos: each, n }) => total + BigInt(each) * BigInt(n),
      0n,
    )
    const { balance_usd: balance } = await gateway.verb('balance.show', {})
    expect(nanos(balance)).toBe(sum)

    const [twice] = readDatabase(
      cli,
      'SELECT generation_id FROM ledger GROUP BY 1 HAVING generation_id IS NOT NULL AND count(*) > 1',
    )
    expect(twice).toBeUndefined()

    // The minute's window counts what was admitted before the kills.
    const info = await fetch(`${gateway.url}/v1/key`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const { usage } = (await info.json()) as {
      usage: { requests_minute: number; spend_day_usd: string }
    }
    const recent = answeredMs.filter((at) => at > Date.now() - MINUTE_MS + 1_000).length
    expect(recent).toBeGreaterThan(ROUNDS)
    expect(usage.requests_minute).toBeGreaterThanOrEqual(recent)
    const [spent] = readDatabase<{ n: number }>(
      cli,
      'SELECT -sum(amount_nanos) AS n FROM ledger WHERE key_id = ?',
      id,
    )
    expect(nanos(usage.spend_day_usd)).toBe(BigInt(spent?.n ?? 0))
    expect(cli.run(['doctor', '-q'])).toEqual({ code: 0, out: '', err: '' })
    expect(await gateway.stop()).toBe(0)
    expect(cli.run(['doctor', '-q'])).toEqual({ code: 0, out: '', err: '' })
  })
})

const missingCharges = (): string[] => {
  const charged = new Set(chargesIn(cli).map(({ generation_id: id }) => id))
  return [...answered].filter((id) => !charged.has(id))
}

const missingTopUps = (): string[] => {
  const rows = readDatabase<{ ref: string }>(cli, 'SELECT ref FROM ledger WHERE ref IS NOT NULL')
  const applied = new Set(rows.map(({ ref }) => ref))
  return [...acknowledged].filter((ref) => !applied.has(ref))
}
