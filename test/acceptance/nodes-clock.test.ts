// A node whose machine's clock is wrong goes by that of the database: windows and days are those of one node, and stay so when it is set.
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { byFile, HAS_FAKETIME, setClock } from '#scripts/faketime.ts'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { POSTGRES_BIN, storeText } from '#test/support/postgres.ts'
import { FULL } from '#test/support/tier.ts'

vi.setConfig({ testTimeout: 60_000 })

if (POSTGRES_BIN === null || !HAS_FAKETIME) {
  test.skip('needs the packages postgresql and faketime', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('two nodes, of which one has a wrong clock', () => {
    const cluster = clusterForAll(bin)
    const clis: CliHarness[] = []
    const nodes: Appliance[] = []
    let right: Appliance
    let wrong: Appliance

    /** How far ahead the machine's clock is. */
    const clockFile = () => join(clis[1]?.home ?? '', 'clock')
    const setAhead = (seconds: number): void =>
      setClock(clockFile(), `${seconds < 0 ? '' : '+'}${seconds}`)
    const aheadMs = async (): Promise<number> => {
      const { out } = (await clis[0]?.runBeside(['nodes', 'list', '--json'])) ?? { out: '[]' }
      const rows = JSON.parse(out) as readonly { name: string; ahead_ms: number }[]
      return rows.find(({ name }) => name === 'b')?.ahead_ms ?? 0
    }
    const isAhead = (seconds: number) =>
      until(
        async () => Math.abs((await aheadMs()) - seconds * 1_000) < 1_000,
        `it knows that its clock is ${seconds} s ahead`,
      )

    beforeAll(async () => {
      const store = storeText(await cluster.create())
      const key = Buffer.alloc(32, 7).toString('base64')
      for (const name of ['a', 'b']) {
        const env = { GATEWAY_STORE: store, GATEWAY_NODE: name, GATEWAY_MASTER_KEY: key }
        clis.push(openCli(undefined, env))
      }
      furnishCli(clis[0] as CliHarness)
      setAhead(7 * 60)
      for (const cli of clis) {
        const env = cli === clis[1] ? byFile(clockFile()) : {}
        nodes.push(await startAppliance(cli, { env }))
      }
      right = nodes[0] as Appliance
      wrong = nodes[1] as Appliance
    })
    afterAll(async () => {
      for (const node of nodes) await node.kill()
      for (const cli of clis) cli.close()
    })

    const issue = async (name: string, limits: object): Promise<string> =>
      (await right.verb('keys.create', { name, ...limits })).key
    const ask = async (node: Appliance, key: string) => {
      const body = { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }
      const answer = await node.chat(key, body)
      const { created = 0 } = (await answer.json()) as { readonly created?: number }
      return { status: answer.status, created }
    }

    const STEPS = [7 * 60, -9 * 60, 3 * 86_400]
    test.each(FULL ? STEPS : STEPS.slice(0, 1))(
      'by %i s: a window and a day are one',
      async (seconds) => {
        setAhead(seconds)
        await isAhead(seconds)
        const key = await issue(`by ${seconds}`, { rpm_limit: 4, daily_spend_limit_usd: '5' })
        const answers: { readonly status: number; readonly created: number }[] = []
        for (const node of [wrong, right, wrong, right, wrong, right])
          answers.push(await ask(node, key))
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429, 429])
        for (const { status, created } of answers) {
          if (status === 200) expect(Math.abs(created - Date.now() / 1_000)).toBeLessThan(3)
        }
        for (const node of [right, wrong]) {
          const { windows, usage } = await node.verb('keys.show', { key: `by ${seconds}` })
          expect(windows.minute).toMatchObject({ remaining: 0 })
          expect(windows.minute?.reset_seconds).toBeGreaterThan(50)
          expect(windows.minute?.reset_seconds).toBeLessThanOrEqual(60)
          expect(Number(usage.spend_day_usd)).toBeGreaterThan(0)
        }
      },
    )

    test('its audit is clean, and every charge is of today', async () => {
      const { findings } = await right.verb('audit', {})
      expect(findings).toEqual([])
      const days = new Set((await right.verb('ledger.list', {})).map(({ at }) => at.slice(0, 10)))
      expect([...days]).toEqual([new Date().toISOString().slice(0, 10)])
    })
  })
}
