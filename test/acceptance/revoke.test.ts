/** Revoking a key: the answer that has begun ends whole, the next request is turned away at once. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { readSse } from '#test/support/read-sse.ts'
import { oks, startSyntheticUpstream } from '#test/support/synthetic-upstream.ts'

const WORDS = 30
const upstream = await startSyntheticUpstream({
  slow: {
    kind: 'chat',
    promptTokens: 100,
    completionTokens: WORDS,
    chunks: oks(WORDS),
    gapMs: 20,
  },
})
const cli = openCli()
let gateway: Appliance

beforeAll(async () => {
  furnishCli(cli)
  gateway = await startAppliance(cli)
  await gateway.verb('providers.add', {
    name: 'slow',
    type: 'openai-compatible',
    base_url: upstream.baseUrls.slow,
    credential: null,
  })
  await gateway.verb('models.add', { model: 'slow/m', in_usd: '1', out_usd: '2' })
})

afterAll(async () => {
  await gateway?.kill()
  await upstream.stop()
  cli.close()
})

const hello = { model: 'slow/m', messages: [{ role: 'user' as const, content: 'hi' }] }

describe('a key that is revoked while it is used', () => {
  test('ends its stream whole and opens no other', async () => {
    const { key, id } = await gateway.verb('keys.create', { name: 'brief' })
    const client = gateway.client(key)
    const stream = await client.chat.completions.create({ ...hello, stream: true })
    const words: string[] = []
    let usage: unknown = null
    let refused: Promise<unknown> | null = null
    for await (const chunk of stream) {
      words.push(...(chunk.choices[0]?.delta.content?.match(/ok/g) ?? []))
      usage = chunk.usage ?? usage
      if (words.length === 3 && refused === null) {
        expect(cli.run(['keys', 'revoke', id, '--yes']).code).toBe(0)
        refused = client.chat.completions.create(hello).catch((thrown: unknown) => thrown)
        expect(await refused).toMatchObject({
          status: 401,
          code: 'api_key_revoked',
          type: 'authentication_error',
        })
        // The answer came while the stream was still running, not after it.
        expect(words.length).toBeLessThan(WORDS)
      }
    }
    expect(words).toHaveLength(WORDS)
    expect(usage).toMatchObject({ prompt_tokens: 100, completion_tokens: WORDS, cost: 0.00016 })
    expect(refused).not.toBeNull()
    const charges = await gateway.verb('ledger.list', { kind: 'charge' })
    expect(charges).toMatchObject([{ key_id: id, amount_usd: '-0.00016' }])
  })

  test('is turned away everywhere, in the same words, with WWW-Authenticate', async () => {
    const { key, id } = await gateway.verb('keys.create', { name: 'gone' })
    await gateway.verb('keys.revoke', { key: id })
    const headers = { authorization: `Bearer ${key}` }
    for (const path of ['/v1/models', '/v1/key', '/api/v1/key']) {
      const answer = await fetch(gateway.url + path, { headers })
      expect([path, answer.status, answer.headers.get('www-authenticate')]).toEqual([
        path,
        401,
        'Bearer',
      ])
      expect(await answer.json()).toMatchObject({ error: { code: 'api_key_revoked', param: null } })
    }
  })

  test('stays revoked after a kill and a restart, and its last stream stays whole', async () => {
    const { key, id } = await gateway.verb('keys.create', { name: 'twice' })
    const other = await gateway.verb('keys.create', { name: 'other' })
    const running = gateway.chat(key, { ...hello, stream: true })
    const response = await running
    await gateway.verb('keys.revoke', { key: id })
    const { done, text } = readSse(await response.text())
    expect([done, text.match(/ok/g)?.length]).toEqual([true, WORDS])
    await gateway.kill()
    gateway = await startAppliance(cli)
    expect((await gateway.chat(key, hello)).status).toBe(401)
    expect((await gateway.chat(other.key, hello)).status).toBe(200)
    await until(async () => (await gateway.verb('status', {})).in_flight === 0, 'all is quiet')
  })
})
