// Two nodes over one PostgreSQL are one gateway: one truth of money and limits, whichever answers and whichever dies.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { FUNCTIONS, NEWEST_VERSION } from '#db/postgres/engine/versions.ts'
import { BINARY } from '#scripts/compile.ts'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { startBalancer } from '#test/support/balancer.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { freePort } from '#test/support/free-port.ts'
import { POSTGRES_BIN, storeText } from '#test/support/postgres.ts'
import { FULL } from '#test/support/tier.ts'

vi.setConfig({ testTimeout: 60_000 })

const masterKey = (byte: number): string => Buffer.alloc(32, byte).toString('base64')

/** What `nodes list --json` prints. */
interface NodeRow {
  readonly name: string
  readonly state: string
  readonly in_flight: number
}

/** The words come back after some seconds. */
const slow = (words: number, rate: number) => ({
  model: 'demo/lorem',
  stream: true,
  max_tokens: words,
  user: `rate-${rate}`,
  messages: [{ role: 'user', content: 'go on' }],
})
const quick = (content = 'hi') => ({ model: 'demo/echo', messages: [{ role: 'user', content }] })

const bodyOf = async (answer: Response) =>
  (await answer.json()) as {
    readonly id: string
    readonly usage: { readonly cost: number }
    readonly error?: { readonly code: string }
  }

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('two nodes over one PostgreSQL', () => {
    const cluster = clusterForAll(bin)
    let store: string
    const clis: CliHarness[] = []
    const nodes: Appliance[] = []
    /** A data directory of its own: its socket, and nothing else. */
    const openNode = (name: string): CliHarness => {
      const cli = openCli(BINARY, {
        GATEWAY_STORE: store,
        GATEWAY_NODE: name,
        GATEWAY_MASTER_KEY: masterKey(7),
      })
      clis.push(cli)
      return cli
    }
    const start = async (cli: CliHarness): Promise<Appliance> => {
      const node = await startAppliance(cli)
      nodes.push(node)
      return node
    }
    let desk: CliHarness
    let cliA: CliHarness
    let cliB: CliHarness
    let a: Appliance
    let b: Appliance

    beforeAll(async () => {
      store = storeText(await cluster.create())
      desk = furnishCli(openNode('desk'))
      cliA = openNode('a')
      cliB = openNode('b')
      a = await start(cliA)
      b = await start(cliB)
    })
    afterAll(async () => {
      for (const node of nodes) await node.kill()
      for (const cli of clis) cli.close()
    })

    const issue = (name: string, limits: object = {}): Promise<{ key: string; id: string }> =>
      a.verb('keys.create', { name, ...limits })
    const balance = (): number =>
      Number(desk.json<{ balance_usd: string }>(['balance']).balance_usd)

    test('are listed, and a request through each is charged once', async () => {
      const listed = desk.json<readonly NodeRow[]>(['nodes', 'list'])
      expect(listed).toMatchObject([
        { name: 'a', state: 'alive', in_flight: 0 },
        { name: 'b', state: 'alive', in_flight: 0 },
      ])
      const { key } = await issue('each')
      const before = balance()
      const answers = [await a.chat(key, quick()), await b.chat(key, quick())]
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
      const costs = await Promise.all(answers.map(async (one) => (await bodyOf(one)).usage.cost))
      expect(costs[0]).toBeGreaterThan(0)
      expect(before - balance()).toBeCloseTo(Number(costs[0]) + Number(costs[1]), 9)
      expect(desk.json<{ clean: boolean }>(['audit']).clean).toBe(true)
    })

    test('a directory is of one node: another with it is refused, and commands go on reaching the first', () => {
      const env = { GATEWAY_NODE: 'c' }
      const flags = ['--auth-listen', 'off', '--listen', '127.0.0.1:0']
      const { code, err } = cliA.run(['serve', ...flags], { env })
      expect([code, err]).toEqual([1, expect.stringContaining(`has ${cliA.dataDir} open`)])
      expect(cliA.json<{ pid: number }>(['status']).pid).toBe(a.pid)
    })

    test('a limit has one last slot, whichever of them it is asked at', async () => {
      const { key } = await issue('raced', { rpm_limit: 30 })
      const asked = Array.from({ length: 100 }, (_, nth) => (nth % 2 ? a : b).chat(key, quick()))
      const statuses = (await Promise.all(asked)).map(({ status }) => status)
      expect(statuses.filter((status) => status === 200)).toHaveLength(30)
      expect(statuses.filter((status) => status === 429)).toHaveLength(70)
    })

    test('one Idempotency-Key at both is one charge, and the same answer', async () => {
      const { key } = await issue('repeated')
      const ask = (node: Appliance) =>
        node.chat(key, quick('twice'), {
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            'idempotency-key': 'of-two-nodes',
          },
        })
      const before = balance()
      const both = await Promise.all([ask(a), ask(b)])
      expect(both.map(({ status }) => status).sort()).toContain(200)
      expect(both.every(({ status }) => status === 200 || status === 409)).toBe(true)
      const [one, other] = [await bodyOf(await ask(a)), await bodyOf(await ask(b))]
      expect(one).toEqual(other)
      expect(before - balance()).toBeCloseTo(one.usage.cost, 9)
    })

    test('a revocation, and a price, hold from the next request at the other', async () => {
      const { key, id } = await issue('changed')
      const cost = async () => (await bodyOf(await b.chat(key, quick('price')))).usage.cost
      const before = await cost()
      expect(
        cliA.run([
          'models',
          'price',
          'demo/echo',
          '--in-usd',
          '1000',
          '--out-usd',
          '1000',
          '--yes',
        ]),
      ).toMatchObject({ code: 0 })
      expect(await cost()).toBeGreaterThan(before)
      expect(cliA.run(['keys', 'revoke', id, '--yes'])).toMatchObject({ code: 0 })
      const refused = await b.chat(key, quick())
      expect([refused.status, (await bodyOf(refused)).error?.code]).toEqual([
        401,
        'api_key_revoked',
      ])
    })

    test('a second process of the same name does not serve', () => {
      const twin = openNode('a')
      const { code, err } = twin.run(['serve', '--listen', '127.0.0.1:0', '--auth-listen', 'off'])
      expect([code, err]).toEqual([
        1,
        expect.stringContaining('another process serves as the node "a"'),
      ])
    })

    test('a node with another master key does not serve', () => {
      const stranger = openNode('stranger')
      const env = { GATEWAY_MASTER_KEY: masterKey(8) }
      const { code, err } = stranger.run(['serve', '--auth-listen', 'off'], { env })
      expect([code, err]).toEqual([1, expect.stringContaining('not the master key')])
    })

    // The smaller tier asks it of the store alone (test/db/postgres-nodes.test.ts).
    test.runIf(FULL)('what a node held that was killed is free within 12 seconds', async () => {
      const victim = openNode('victim')
      const node = await start(victim)
      const { key } = await issue('bereft', { concurrency_limit: 1 })
      const stream = await node.chat(key, slow(2_000, 20))
      expect(stream.status).toBe(200)
      expect((await a.chat(key, quick())).status).toBe(429)
      const killedAt = performance.now()
      await node.kill()
      await stream.text().catch(() => {})
      await until(
        async () => (await a.chat(key, quick())).status === 200,
        'the slot is free',
        20_000,
      )
      expect(performance.now() - killedAt).toBeLessThan(12_000)
      expect(desk.json<{ clean: boolean }>(['audit']).clean).toBe(true)
    })

    test('a database without tables is refused until it is migrated; another role may not change what is written once', async () => {
      const address = await cluster.createEmpty()
      await cluster.run(address, 'CREATE ROLE gateway LOGIN')
      const owner = openNode('owner')
      const of = (username: string) => ({
        env: { GATEWAY_STORE: storeText({ ...address, username }) },
      })
      const early = owner.run(['init'], of('gateway'))
      expect([early.code, early.err]).toEqual([
        1,
        expect.stringContaining('gatewayctl store migrate'),
      ])
      const [first, again] = [1, 2].map(() => owner.run(['store', 'migrate'], of('postgres')))
      expect([first?.code, first?.out]).toEqual([
        0,
        expect.stringContaining(`schema 0 → ${NEWEST_VERSION}`),
      ])
      expect([again?.code, again?.out]).toEqual([0, expect.stringContaining('already')])
      // Another build of this version has migrated it.
      await cluster.run(address, `ALTER SCHEMA ${FUNCTIONS} RENAME TO gw${NEWEST_VERSION}_0a1b2c3d`)
      const status = owner.run(['store', 'status'], of('postgres'))
      expect([status.code, status.out]).toEqual([
        6,
        expect.stringContaining(
          `${NEWEST_VERSION}, without the functions of this binary: gatewayctl store migrate`,
        ),
      ])
      expect(owner.run(['store', 'migrate'], of('postgres')).out).toContain(
        `schema ${NEWEST_VERSION} as before, with the functions of this binary now`,
      )
      const other = owner.run(['store', 'migrate'], of('gateway'))
      expect([other.code, other.out]).toEqual([0, expect.stringContaining('already')])
      expect(owner.run(['init'], of('gateway')).code).toBe(0)
      expect(owner.run(['balance', 'top-up', '5'], of('gateway')).code).toBe(0)
      const asGateway = { ...address, username: 'gateway' }
      await expect(cluster.run(asGateway, 'UPDATE ledger SET note = NULL')).rejects.toThrow(
        'permission denied',
      )
      await expect(cluster.run(address, 'DELETE FROM ledger')).rejects.toThrow('append-only')
      await cluster.run(
        address,
        `ALTER DATABASE ${address.database} SET default_transaction_read_only = on`,
      )
      for (const reads of [['keys', 'list'], ['usage'], ['activity'], ['store', 'status']]) {
        expect([reads, owner.run(reads, of('gateway')).code]).toEqual([reads, 0])
      }
      const refused = owner.run(['keys', 'create', 'web'], of('gateway'))
      expect([refused.code, refused.err]).toEqual([4, expect.stringContaining('it is read-only')])
      expect(refused.err).toMatch(/takes writes \(.+: it is read-only\).*turn it off/s)
      expect(owner.run(['doctor'], of('gateway')).out).toContain(
        'next: default_transaction_read_only is on there',
      )
    })

    test('the password is in no error, no list and no command line', async () => {
      const shy = openNode('shy')
      const env = { GATEWAY_STORE: 'postgres://gateway:hush-hush@127.0.0.1:1/gateway' }
      // Each waits some seconds for the database.
      const said = await Promise.all(
        [
          ['status'],
          ['keys', 'list'],
          ['store', 'status'],
          ['config', 'show'],
          ['serve', '--debug'],
        ].map((args) => shy.runBeside(args, { env })),
      )
      for (const { out, err } of said) expect(out + err).not.toContain('hush')
      expect(said.at(-1)).toMatchObject({ code: 4, err: expect.stringContaining('127.0.0.1:1') })
      const wrong = shy.run(['status'], { env: { GATEWAY_STORE: 'postgres://x:hush@@@/' } })
      expect([wrong.code, wrong.err]).toEqual([2, expect.not.stringContaining('hush')])
    })

    test('a node that stops leaves nothing behind, and its name is free', async () => {
      const guest = openNode('guest')
      const first = await start(guest)
      expect(await first.stop()).toBe(0)
      expect(
        desk.json<readonly NodeRow[]>(['nodes', 'list']).map(({ name }) => name),
      ).not.toContain('guest')
      const again = await start(guest)
      expect(await again.stop()).toBe(0)
    })

    test.runIf(FULL)(
      'are replaced one after the other behind a balancer that asks /readyz: nothing is refused, nothing cut',
      async () => {
        const places = [freePort(), freePort()].map((port, nth) => ({
          port,
          cli: openNode(`r${nth}`),
        }))
        const serve = async ({ port, cli }: (typeof places)[number]): Promise<Appliance> => {
          const flags = ['--listen', `127.0.0.1:${port}`, '--unready', '1s']
          const node = await startAppliance(cli, { flags })
          nodes.push(node)
          return node
        }
        const running = await Promise.all(places.map(serve))
        const balancer = await startBalancer(places.map(({ port }) => port))
        let isOver = false
        const asksReady = async (): Promise<void> => {
          while (!isOver) {
            const ready = await Promise.all(
              places.map(async ({ port }) => {
                const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null)
                return answer?.status === 200
              }),
            )
            balancer.pin(ready[0] === ready[1] ? null : ready.indexOf(true))
            await Bun.sleep(100)
          }
        }
        const { key } = await issue('behind')
        const failures: string[] = []
        let answered = 0
        const send = (body: object): Promise<Response> =>
          fetch(`${balancer.url}/v1/chat/completions`, {
            method: 'POST',
            headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
            body: JSON.stringify(body),
          })
        const asks = async (): Promise<void> => {
          while (!isOver) {
            const answer = await send(quick()).catch(String)
            if (typeof answer !== 'string' && answer.status === 200) {
              await answer.text()
              answered++
            } else failures.push(typeof answer === 'string' ? answer : await answer.text())
            await Bun.sleep(10)
          }
        }
        const load = Promise.all([asksReady(), asks(), asks(), asks()])
        const streams = Promise.all(
          Array.from({ length: 4 }, async () => (await send(slow(60, 12))).text()),
        )
        for (const [nth, place] of places.entries()) {
          const before = answered
          await until(() => answered > before + 20, 'both serve')
          expect(await running[nth]?.stop()).toBe(0)
          running[nth] = await serve(place)
        }
        for (const text of await streams) expect(text).toMatch(/data: \[DONE\]\n\n$/)
        isOver = true
        await load
        balancer.close()
        expect(failures).toEqual([])
        expect(desk.json<{ clean: boolean }>(['audit']).clean).toBe(true)
      },
    )
  })
}
