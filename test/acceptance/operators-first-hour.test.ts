/** An operator's first hour, as typed into a shell: from an empty directory to a charge that adds up to the nano-dollar. */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, describe, expect, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import { priced } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { startSyntheticUpstream } from '#test/support/synthetic-upstream.ts'

const upstream = await startSyntheticUpstream({
  acme: {
    kind: 'chat',
    promptTokens: 22,
    completionTokens: 3,
    chunks: ['Southern', ' Ocean', '.'],
  },
})
const cli = openCli()
let served = 0

afterAll(async () => {
  if (served > 0) process.kill(served, 'SIGKILL')
  await upstream.stop()
  cli.close()
})

/** A port that was free a moment ago. */
function freePort(): number {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = probe
  probe.stop(true)
  return port
}

const SCRIPT = `
set -euo pipefail
gatewayctl init --no-input > first.key
gatewayctl rates set USD/RUB 90
gatewayctl balance top-up 50
gatewayctl serve > serve.log 2>&1 &
echo $! > serve.pid
until curl -sf "http://$GATEWAY_LISTEN/readyz" > readyz.json; do sleep 0.02; done
echo sk-x | gatewayctl providers add acme --type openai-compatible --base-url "$UPSTREAM"
gatewayctl models add acme/m --provider acme --upstream gpt-4o --in-usd 2.5 --out-usd 10
KEY=$(gatewayctl keys create ci --rpm 5 --daily-usd 1 --allow 'acme/*')
printf %s "$KEY" > ci.key
gatewayctl doctor
`

describe('an operator types', () => {
  const listen = `127.0.0.1:${freePort()}`
  const env: Readonly<Record<string, string>> = { ...cli.env, GATEWAY_LISTEN: listen }
  const baseURL = `http://${listen}/v1`
  const file = (name: string): string => readFileSync(join(cli.home, name), 'utf8')
  let key = ''

  test('the whole script, and it works', () => {
    writeFileSync(join(cli.home, 'hour.sh'), SCRIPT)
    const { exitCode, stderr } = Bun.spawnSync(['bash', 'hour.sh'], {
      cwd: cli.home,
      env: {
        ...env,
        PATH: `${dirname(BINARY)}:${env['PATH']}`,
        UPSTREAM: upstream.baseUrls.acme,
      },
    })
    served = Number(file('serve.pid'))
    expect({ exitCode, said: exitCode === 0 ? '' : stderr.toString() }).toEqual({
      exitCode: 0,
      said: '',
    })
    key = file('ci.key')
    expect(key).toMatch(/^if-[0-9A-Za-z]{49}$/)
    expect(JSON.parse(file('readyz.json'))).toMatchObject({ status: 'ok' })
  })

  test('the stock client streams an answer, and every account of its charge agrees', async () => {
    const client = new OpenAI({ apiKey: key, baseURL, maxRetries: 0 })
    const { data: stream, response } = await client.chat.completions
      .create({
        model: 'acme/m',
        messages: [{ role: 'user', content: 'Which ocean?' }],
        stream: true,
      })
      .withResponse()
    const chunks = await Array.fromAsync(stream)
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    expect(text).toBe('Southern Ocean.')
    expect(chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).toEqual(['stop'])

    expect(priced([22, '2.5'], [3, '10'])).toBe(85_000n)
    expect(chunks.at(-1)?.usage).toMatchObject({
      prompt_tokens: 22,
      completion_tokens: 3,
      total_tokens: 25,
      cost: 0.000085,
      cost_rub: 0.00765,
      cost_details: { rub_per_usd: '90', source: 'provider' },
    })
    const generation = response.headers.get('x-generation-id')
    expect(chunks.every(({ id }) => id === generation)).toBe(true)

    const charges = cli.json<readonly object[]>(['ledger', 'list', '--kind', 'charge'])
    expect(charges).toHaveLength(1)
    expect(charges[0]).toMatchObject({
      amount_usd: '-0.000085',
      cost_rub: 0.00765,
      rub_per_usd: '90',
      generation_id: generation,
    })
    const answer = await fetch(`${baseURL}/key`, { headers: { authorization: `Bearer ${key}` } })
    expect(await answer.json()).toMatchObject({
      limits: { rpm_limit: 5, daily_spend_limit_usd: '1.00', allowed_models: ['acme/*'] },
      usage: {
        spend_day_usd: '0.000085',
        spend_month_usd: '0.000085',
        spend_day_rub: 0.00765,
        reserved_usd: '0',
        requests_in_progress: 0,
        requests_minute: 1,
      },
      remaining: { minute: 4, daily_spend_usd: '0.999915' },
      balance: { amount_usd: '49.999915', amount_rub: 4499.99235 },
    })
  })

  test('the upstream was asked as the operator said, and never saw a key of the gateway', async () => {
    const [looked, asked] = await upstream.requests()
    // Adding it asked for its models, once.
    expect(looked?.path).toBe('/acme/models')
    expect(asked?.path).toBe('/acme/chat/completions')
    expect(asked?.headers['authorization']).toBe('Bearer sk-x')
    expect(asked?.body).toMatchObject({
      model: 'gpt-4o',
      stream: true,
      stream_options: { include_usage: true },
    })
    expect(JSON.stringify(asked)).not.toContain(key)
  })

  test('the doctor finds nothing but a missing backup, with the server up and down', async () => {
    expect(cli.run(['doctor', '-q'])).toEqual({ code: 0, out: '', err: '' })
    process.kill(served, 'SIGTERM')
    await expect.poll(() => file('serve.log')).toContain('listening')
    await expect.poll(() => cli.run(['status', '-q']).code).toBe(4)
    served = 0
    // Nothing but the backup that nobody has taken yet.
    expect(cli.json<object>(['doctor'])).toMatchObject({ problems: 0, warnings: 1 })
    expect(cli.run(['backup', '--verify', join(cli.home, 'first.db')]).code).toBe(0)
    expect(cli.json<object>(['doctor'])).toMatchObject({ problems: 0, warnings: 0 })
    expect(cli.json(['balance'])).toMatchObject({ balance_usd: '49.999915' })
  })
})
