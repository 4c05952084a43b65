/** Streams that fall silent before their client hangs up: it pays for what came, by the provider's own count where there is one. */
import { expect, test } from 'vitest'
import { priced, readDatabase } from '#test/support/appliance.ts'
import { type HangUpGateway, tokens } from './hang-up-gateway.ts'

/** Call it inside a `describe`: `stuck/m` says `firstWord` and no count, `counted/m` counts eight tokens of prompt along. */
export function testSilentStreams(setup: () => HangUpGateway, firstWord: string): void {
  test('on a stream that has fallen silent pays for what came before', async () => {
    const { row, body } = await setup().hangUp('stuck/m', true, ({ received }) =>
      received.includes(firstWord),
    )
    expect(row).toMatchObject({ status: 499, ended_by: 'client', usage_source: 'estimated' })
    expect(BigInt(row.cost_nanos)).toBe(priced([tokens(body), '1'], [row.output_tokens, '2']))
    expect(row.output_tokens).toBeGreaterThan(0)
  })

  test("T15: after the provider's own count pays by that", async () => {
    const { row } = await setup().hangUp('counted/m', true, ({ received }) =>
      received.includes('"role":"assistant"'),
    )
    expect(row).toMatchObject({ status: 499, ended_by: 'client', usage_source: 'provider' })
    const [count] = readDatabase<{ input_tokens: number }>(
      setup().cli,
      'SELECT input_tokens FROM activity WHERE generation_id = ?',
      row.generation_id,
    )
    expect(count?.input_tokens).toBe(8)
    expect(BigInt(row.cost_nanos)).toBe(priced([8, '1'], [row.output_tokens, '2']))
  })
}
