// Nodes are upgraded one after another: the schema is migrated while those of the version before serve, and both serve side by side.
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { NEWEST_VERSION } from '#db/postgres/engine/versions.ts'
import { BINARY } from '#scripts/compile.ts'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { POSTGRES_BIN, storeText } from '#test/support/postgres.ts'
import { FULL } from '#test/support/tier.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const PARTS = ['cli', 'db', 'server', 'scripts', 'package.json', 'tsconfig.json']

const change = (file: string, from: RegExp, to: string): void => {
  const text = readFileSync(file, 'utf8')
  if (text.search(from) < 0) throw new Error(`${file} has no ${from}`)
  writeFileSync(file, text.replace(from, to))
}

/** The release after this one: it adds a column, and its settlement says in the ledger whose it was. */
function buildNext(place: string): string {
  for (const part of PARTS) cpSync(resolve(part), join(place, part), { recursive: true })
  symlinkSync(resolve('node_modules'), join(place, 'node_modules'))
  const engine = join(place, 'db/postgres/engine')
  const next = "'../migrations/9999_next.sql'"
  writeFileSync(
    join(place, 'db/postgres/migrations/9999_next.sql'),
    'ALTER TABLE activity ADD next_word text; ALTER TABLE keys ADD next_word text; ALTER TABLE holds ADD next_word text;',
  )
  change(
    join(engine, 'versions.ts'),
    /MIGRATIONS: readonly string\[\] = \[(.*?),?\s*\]/s,
    'MIGRATIONS: readonly string[] = [$1, next]',
  )
  change(
    join(engine, 'versions.ts'),
    /^import initial/m,
    `import next from ${next} with { type: 'text' }\nimport initial`,
  )
  change(join(engine, 'versions.ts'), /SERVES_FROM = \d+/, `SERVES_FROM = ${NEWEST_VERSION}`)
  const functions = join(place, 'db/postgres/functions.sql')
  change(functions, /price_version, day, end_user\)/, 'price_version, day, end_user, note)')
  change(functions, /d\.version, d\.day, d\.counted_as/, "d.version, d.day, d.counted_as, 'next'")
  const outfile = join(place, 'gatewayctl')
  const built = Bun.spawnSync([process.execPath, 'scripts/build.ts', '--outfile', outfile], {
    cwd: place,
  })
  if (built.exitCode !== 0) throw new Error(built.stderr.toString())
  return outfile
}

const quick = (content: string) => ({ model: 'demo/echo', messages: [{ role: 'user', content }] })

/** Requests at a node, some at a time, until it is told to end; answers what became of each. */
function press(node: Appliance, key: string, atOnce: number) {
  const answers: { readonly status: number; readonly cost: number }[] = []
  let isOver = false
  const ask = async (): Promise<void> => {
    for (let n = 0; !isOver; n++) {
      const answer = await node.chat(key, quick(`number ${n}`))
      const body = (await answer.json()) as { usage?: { cost: number } }
      answers.push({ status: answer.status, cost: body.usage?.cost ?? 0 })
    }
  }
  const asking = Promise.all(Array.from({ length: atOnce }, ask))
  return {
    answers,
    async end() {
      isOver = true
      await asking
      return answers
    },
  }
}

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  // The smaller tier asks it of the store alone (test/db/postgres-versions.test.ts).
  describe.runIf(FULL)('while nodes serve', () => {
    const cluster = clusterForAll(bin)
    const clis: CliHarness[] = []
    const nodes: Appliance[] = []
    let address: Awaited<ReturnType<typeof cluster.create>>
    let place: string
    let next: string

    const openNode = (name: string, binary: string): CliHarness => {
      const cli = openCli(binary, {
        GATEWAY_STORE: storeText(address),
        GATEWAY_NODE: name,
        GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      })
      clis.push(cli)
      return cli
    }
    const start = async (cli: CliHarness): Promise<Appliance> => {
      const node = await startAppliance(cli, { nodes: 1 })
      nodes.push(node)
      return node
    }

    beforeAll(async () => {
      address = await cluster.create()
      place = mkdtempSync(join(tmpdir(), 'gatewayctl-next-'))
      next = buildNext(place)
    })
    afterAll(async () => {
      for (const node of nodes) await node.kill()
      for (const cli of clis) cli.close()
      rmSync(place, { recursive: true, force: true })
    })

    test('the schema is migrated, and nodes of both versions are one gateway until the last is upgraded', async () => {
      const newDesk = openNode('new-desk', next)
      const desk = furnishCli(openNode('desk', BINARY))
      const oldCli = openNode('old', BINARY)
      const old = await start(oldCli)
      const { key } = await old.verb('keys.create', { name: 'pressed' })
      const early = newDesk.run(['serve', '--auth-listen', 'off'])
      expect([early.code, early.err]).toEqual([
        1,
        expect.stringContaining('gatewayctl store migrate'),
      ])
      const balance = () => Number(desk.json<{ balance_usd: string }>(['balance']).balance_usd)
      const before = balance()

      const pressed = press(old, key, 8)
      await until(() => pressed.answers.length > 50, 'it is under load')
      const migrated = await newDesk.runBeside(['store', 'migrate'])
      expect([migrated.code, migrated.out]).toEqual([
        0,
        expect.stringContaining(`schema ${NEWEST_VERSION} → ${NEWEST_VERSION + 1}`),
      ])
      // The other version starts beside it, and one of the same version as well.
      const young = await start(openNode('young', next))
      const late = await start(openNode('late', BINARY))
      const beside = [press(young, key, 4), press(late, key, 4)]
      const seen = pressed.answers.length
      await until(
        () =>
          pressed.answers.length > seen + 100 &&
          beside.every(({ answers }) => answers.length > 100),
        'all of them have answered',
        60_000,
      )
      const listed = desk.json<readonly { name: string; schema: number }[]>(['nodes', 'list'])
      expect(listed.map(({ name, schema }) => [name, schema])).toEqual([
        ['late', NEWEST_VERSION],
        ['old', NEWEST_VERSION],
        ['young', NEWEST_VERSION + 1],
      ])
      const status = desk.run(['store', 'status'])
      expect([status.code, status.out]).toEqual([
        0,
        expect.stringContaining('from which this binary'),
      ])
      for (const { url } of [old, late, young]) {
        expect((await fetch(`${url}/readyz`)).status).toBe(200)
      }

      const all = (await Promise.all([pressed, ...beside].map((one) => one.end()))).flat()
      expect(all.filter(({ status: is }) => is !== 200)).toEqual([])
      const costs = all.reduce((sum, { cost }) => sum + cost, 0)
      expect(before - balance()).toBeCloseTo(costs, 6)
      const [ledger] = await cluster.run<{ all: string; next: string }>(
        address,
        `SELECT count(*) AS "all", count(*) FILTER (WHERE note = 'next') AS next FROM ledger WHERE kind = 'charge'`,
      )
      expect(Number(ledger?.all)).toBe(all.length)
      expect(Number(ledger?.next)).toBe(beside[0]?.answers.length)
      for (const cli of [desk, newDesk]) {
        expect(cli.json<{ clean: boolean }>(['audit']).clean).toBe(true)
      }
      // Upgraded, the first goes on under its name.
      expect(await old.stop()).toBe(0)
      const upgraded = await start(openNode('old', next))
      expect((await upgraded.chat(key, quick('again'))).status).toBe(200)
    })

    test('a migration that leaves no place for a living node is refused, and names it', async () => {
      const { code, err } = openNode('desk', next).run(['store', 'migrate'])
      expect([code, err]).toEqual([0, ''])
      await cluster.run(
        address,
        `INSERT INTO nodes (name, epoch, version, schema) VALUES ('ancient', 'epoch_0', '0.0.1', ${NEWEST_VERSION - 1})`,
      )
      const refused = openNode('desk', next).run(['store', 'migrate'])
      expect([refused.code, refused.err]).toEqual([
        1,
        expect.stringContaining(`ancient (0.0.1, schema ${NEWEST_VERSION - 1})`),
      ])
    })
  })
}
