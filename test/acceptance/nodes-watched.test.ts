// What operators and owners see of two nodes is the same at both, and where there is none; what one serves is ended at the other's word.
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { NodeRecord } from '#domain/node.ts'
import type { SnapshotRecord } from '#operator/snapshot/record.ts'
import { BINARY } from '#scripts/compile.ts'
import { openStream } from '#test/cabinet/open-stream.ts'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { type MailServer, openMailServer } from '#test/support/mail-server.ts'
import { POSTGRES_BIN, storeText } from '#test/support/postgres.ts'
import { FULL } from '#test/support/tier.ts'
import { openBrowser } from './signin/browser.ts'
import { textOf } from './signin/signin-gateway.ts'

vi.setConfig({ testTimeout: 60_000 })

const forget = (): void => {}

/** Promised of a view, and of an end at another node's word. */
const SEEN_MS = 1_000
const ENDED_MS = 3_000

interface Status {
  readonly running: boolean
  readonly in_flight: number
  readonly nodes: readonly NodeRecord[]
}

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('of two nodes', () => {
    const cluster = clusterForAll(bin)
    let mail: MailServer
    let store: string
    const clis: CliHarness[] = []
    const nodes: Appliance[] = []
    const openNode = (name: string, more: Readonly<Record<string, string>> = {}): CliHarness => {
      const cli = openCli(BINARY, {
        GATEWAY_STORE: store,
        GATEWAY_NODE: name,
        GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
        GATEWAY_SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
        GATEWAY_SMTP_FROM: 'Gateway <gateway@example.org>',
        ...more,
      })
      clis.push(cli)
      return cli
    }
    const start = async (cli: CliHarness, ...flags: readonly string[]): Promise<Appliance> => {
      const node = await startAppliance(cli, { flags })
      nodes.push(node)
      return node
    }
    /** No node: an operator's machine. */
    let desk: CliHarness
    let cliB: CliHarness
    let a: Appliance
    let b: Appliance
    let key: string

    beforeAll(async () => {
      mail = await openMailServer()
      store = storeText(await cluster.create())
      desk = furnishCli(openNode('desk', { GATEWAY_AUTH_URL: 'https://id.example.org' }))
      cliB = openNode('b')
      a = await start(openNode('a'))
      b = await start(cliB, '--auth-listen', '127.0.0.1:0')
      key = (await a.verb('keys.create', { name: 'watched' })).key
    })
    afterAll(async () => {
      for (const node of nodes) await node.kill()
      await mail?.close()
      for (const cli of clis) cli.close()
    })

    /** A stream that lasts until somebody ends it, once it is told of at the other. */
    async function talk(at = a, seenAt = b) {
      const answer = await at.chat(key, {
        model: 'demo/lorem',
        stream: true,
        max_tokens: 5_000,
        user: 'rate-20',
        messages: [{ role: 'user', content: 'go on' }],
      })
      const id = answer.headers.get('x-generation-id') ?? ''
      const heard = answer.text().catch(String)
      onTestFinished(() => ended(at, id).then(forget, forget))
      await until(() => seenAt.verb('activity.running', { id }).then(() => true), 'it is seen')
      return { id, heard }
    }
    function startTail(cli: CliHarness) {
      const child = Bun.spawn([BINARY, 'activity', 'tail', '-q'], {
        cwd: cli.home,
        env: cli.env,
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      })
      onTestFinished(() => child.kill('SIGKILL'))
      const told = { ids: '', child }
      void (async () => {
        for await (const piece of child.stdout.pipeThrough(new TextDecoderStream()))
          told.ids += piece
      })()
      return told
    }
    /** The id of a request that each of them tells of within half a second. */
    async function askUntilTold(tails: readonly { readonly ids: string }[]): Promise<string> {
      let id = ''
      await until(async () => {
        const answer = await a.chat(key, {
          model: 'demo/echo',
          messages: [{ role: 'user', content: 'hi' }],
        })
        id = answer.headers.get('x-generation-id') ?? ''
        await answer.text()
        await Bun.sleep(SEEN_MS / 2)
        return tails.every(({ ids }) => ids.includes(id))
      }, 'they tell of a request within half a second')
      return id
    }
    const statusAt = (node: Appliance): Promise<Status> =>
      node.verb('status', {}) as Promise<unknown> as Promise<Status>
    const held = (name: string, in_flight: number) =>
      expect.objectContaining({ name, state: 'alive', in_flight })
    const ended = (node: Appliance, id: string) => node.verb('activity.kill', { id })

    test('a stream of one is in the status, the lists and the dashboard of the other, which say where it is', async () => {
      const { id, heard } = await talk()
      expect(await a.verb('activity.running', { id })).toMatchObject({
        node: 'a',
        state: 'streaming',
      })
      expect(await b.verb('activity.running', { id })).toMatchObject({
        node: 'a',
        state: 'elsewhere',
        key_name: 'watched',
        model: 'demo/lorem',
        completion_tokens: null,
        cost_usd: null,
      })
      const both = [held('a', 1), held('b', 0)]
      for (const node of [a, b]) {
        expect(await statusAt(node)).toMatchObject({ running: true, in_flight: 1, nodes: both })
      }
      const seen = desk.json<Status>(['status'])
      expect(seen).toMatchObject({ running: true, in_flight: 1, nodes: both })
      const listed = desk.json<readonly NodeRecord[]>(['nodes', 'list'])
      expect(Object.keys(listed[0] ?? {})).toEqual(Object.keys(seen.nodes[0] ?? {}))
      expect(desk.run(['status']).out).toMatch(/^nodes +a ● 1 in flight {3}b ● 0 in flight$/m)
      expect(desk.run(['doctor']).out).toMatch(/, serving at other machines: 2$/m)

      const snapshot = cliB.json<SnapshotRecord>(['dashboard'])
      expect(snapshot.in_flight).toMatchObject({ count: 1, requests: [{ id, node: 'a' }] })
      expect(snapshot.gateway.nodes).toMatchObject(both)
      const drawn = cliB.run(['dashboard', '--once']).out
      expect(drawn).toMatch(/KEY +MODEL +NODE +ELAPSED/)
      expect(drawn).toMatch(/watched +demo\/lorem +a +\d/)
      await ended(a, id)
      await heard
    })

    test.runIf(FULL)(
      'a request of one is in the tail and the log of the other, and of a machine that is no node',
      async () => {
        const tails = [cliB, desk].map(startTail)
        const id = await askUntilTold(tails)
        for (const { ids } of tails) {
          const lines = ids.trim().split('\n')
          expect(new Set(lines).size).toBe(lines.length)
        }
        const { log, traffic } = cliB.json<SnapshotRecord>(['dashboard'])
        expect(log.filter((line) => line.id === id)).toMatchObject([{ node: 'a' }])
        expect(traffic.requests_per_minute).toBeGreaterThan(0)
        for (const command of [
          ['activity', 'show', id],
          ['why', id],
        ]) {
          expect(desk.json(command)).toMatchObject({ id, node: 'a' })
          expect(desk.run(command).out).toMatch(/^node\s+a$/m)
        }
        expect(a.said()).toMatch(new RegExp(`"generation_id":"${id}".*"node":"a"`))
      },
    )

    test('a request that one refused is in the log with its name', async () => {
      const refused = await b.chat(key, {
        model: 'demo/none',
        messages: [{ role: 'user', content: 'hi' }],
      })
      const id = refused.headers.get('x-generation-id') ?? ''
      await refused.text()
      await until(
        async () =>
          desk
            .json<readonly { id: string; node: string }[]>(['activity', 'list', '--errors'])
            .some((line) => line.id === id && line.node === 'b'),
        'it is in the log, with the node',
      )
    })

    test.runIf(FULL).each(['the other node', 'a machine that is no node'])(
      'a stream is ended within 3 s at the word of %s, and charged for what came',
      async (who) => {
        const { id, heard } = await talk()
        const killer = who === 'the other node' ? cliB : desk
        const before = performance.now()
        const { code, err } = await killer.runBeside(['activity', 'kill', id, '--yes'])
        expect([code, err]).toEqual([0, expect.stringContaining(`ended ${id}`)])
        expect(await heard).toContain('ended_by_operator')
        expect(performance.now() - before).toBeLessThan(ENDED_MS)
        const [act] = killer.json<readonly object[]>(['activity', 'list', '--admin'])
        expect(act).toMatchObject({ verb: 'activity.kill', target: id, changed: { node: 'a' } })
        const line = killer.json<{ code: string; cost_usd: string }>(['activity', 'show', id])
        expect(line.code).toBe('ended_by_operator')
        expect(Number(line.cost_usd)).toBeGreaterThan(0)
        expect(killer.run(['activity', 'kill', id, '--yes'])).toMatchObject({
          code: 3,
          err: expect.stringContaining(`request ${id} has ended: ended_by_operator`),
        })
      },
    )

    test('whom a machine without a node adds is told by mail, which a node sends, unless it has no key to seal it with', async () => {
      const add = (email: string, env: Readonly<Record<string, string>> = {}) =>
        desk.run(['accounts', 'members', 'add', 'default', email, '--role', 'owner'], { env })
      expect(add('desk@example.org')).toMatchObject({
        code: 0,
        err: expect.stringContaining('a mail to them is on its way'),
      })
      expect(add('keyless@example.org', { GATEWAY_MASTER_KEY: '' })).toMatchObject({
        code: 0,
        err: expect.stringContaining('no mail is sent'),
      })
      // A mail of its own lets a node look at once, and not within a minute.
      await b.verb('accounts.members.add', { email: 'node@example.org', role: 'viewer' })
      const told = () => mail.taken.flatMap(({ to }) => to).toSorted()
      await until(() => told().length >= 2, 'both are told')
      expect(told()).toEqual(['desk@example.org', 'node@example.org'])
      mail.taken.length = 0
    })

    test.runIf(FULL)('the live figures of the cabinet at one are those of both', async () => {
      const authUrl = /"auth_url":"([^"]+)"/.exec(b.said())?.[1] ?? ''
      const email = 'ann@example.org'
      await b.verb('accounts.members.add', { email, role: 'owner' })
      const mails = () => mail.taken.filter(({ to }) => to.includes(email))
      await until(() => mails().length === 1, 'she is invited')
      const browser = openBrowser(authUrl)
      const asked = await browser.submit(await browser.open('/cabinet'), '/email', { email })
      await until(() => mails().length === 2, 'her code is here')
      const code = /^(\d{4}) (\d{4})\r?$/m.exec(textOf(mails()[1]?.source ?? ''))
      const landed = await browser.submit(asked, '/code', { code: `${code?.[1]}${code?.[2]}` })
      const onward = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(landed.text)?.[1]
      if (onward !== undefined) await browser.open(onward.replaceAll('&amp;', '&'))

      const stream = await openStream({ authUrl }, browser)
      onTestFinished(stream.close)
      await stream.figures(({ shown }) => shown['in_flight'] === '0')
      const { id, heard } = await talk()
      const before = performance.now()
      await stream.figures(({ shown }) => shown['in_flight'] === '1')
      await ended(a, id)
      await heard
      await stream.figures(({ shown, latest }) => shown['in_flight'] === '0' && latest === id)
      expect(performance.now() - before).toBeLessThan(3 * SEEN_MS)
    })

    test.runIf(FULL)('a node that died holds up no view, and is silent, then ended', async () => {
      const node = await start(openNode('victim'))
      const { id, heard } = await talk(node)
      await node.kill()
      await heard
      const said = new Map<string, number>()
      let slowestMs = 0
      await until(
        async () => {
          const before = performance.now()
          const status = await statusAt(b)
          slowestMs = Math.max(slowestMs, performance.now() - before)
          const { state = '' } = status.nodes.find(({ name }) => name === 'victim') ?? {}
          said.set(state, status.in_flight)
          return state === 'ended'
        },
        'it is ended',
        20_000,
      )
      expect([...said]).toEqual([
        ['alive', 1],
        ['silent', 1],
        ['ended', 0],
      ])
      expect(slowestMs).toBeLessThan(SEEN_MS)
      await until(
        async () => cliB.json<SnapshotRecord>(['dashboard']).log.some((line) => line.id === id),
        'its request is in the log of the dashboard',
      )
    })

    test.runIf(FULL)(
      'where no node lives any more a tail ends, and there is nothing to watch or to end',
      async () => {
        const tail = startTail(desk)
        const id = await askUntilTold([tail])
        await Promise.all([a.stop(), b.stop()])
        expect(await tail.child.exited).toBe(4)
        expect(await new Response(tail.child.stderr).text()).toContain('the gateway has stopped')
        const none = { code: 4, err: expect.stringContaining('no gateway is running') }
        expect(await desk.runBeside(['activity', 'tail'])).toMatchObject(none)
        expect(desk.run(['activity', 'kill', id, '--yes'])).toMatchObject(none)
        expect(desk.run(['status'])).toMatchObject({ code: 4 })
      },
    )
  })
}
