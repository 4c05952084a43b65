// A gateway is moved into PostgreSQL and back: whoever was signed in still is, keys answer, the books are line for line the same; and a
// kill in the middle leaves the one whole and the other empty.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { MoveRecord } from '#cli/store/move.ts'
import type { Address } from '#db/postgres/engine/address.ts'
import { until } from '#test/support/appliance.ts'
import { clusterForAll } from '#test/support/cluster-for-all.ts'
import { connect, POSTGRES_BIN, storeText } from '#test/support/postgres.ts'
import { enter } from './cabinet/enter.ts'
import type { Browser } from './signin/browser.ts'
import { openSigninGateway, type SigninGateway } from './signin/signin-gateway.ts'

vi.setConfig({ testTimeout: 60_000 })

const ANN = 'ann@example.org'

if (POSTGRES_BIN === null) {
  test.skip('PostgreSQL is not installed: apt-get install postgresql', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('a gateway that is moved', () => {
    const cluster = clusterForAll(bin)
    let address: Address
    let store: string
    let back: string
    /** Of every start of it. */
    const env: Record<string, string> = {}
    let setup: SigninGateway
    let browser: Browser
    let key: string

    beforeAll(async () => {
      address = await cluster.createEmpty()
      store = storeText(address)
      setup = await openSigninGateway(env)
      back = join(setup.cli.home, 'back')
      browser = await enter(setup, ANN)
      ;({ key } = await setup.appliance.verb('keys.create', { name: 'kept', rpm_limit: 4 }))
      expect(await ask()).toBe(200)
    })
    afterAll(async () => {
      await setup?.close()
    })

    const ask = async (): Promise<number> => {
      const body = { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }
      return (await setup.appliance.chat(key, body)).status
    }
    const run = (args: readonly string[]) => setup.cli.run(args, { env })
    const json = <T>(args: readonly string[]): T => {
      const { code, out, err } = run([...args, '--json'])
      expect([args, code, err]).toEqual([args, 0, ''])
      return JSON.parse(out) as T
    }
    const books = () => {
      const { at: _, ...audit } = json<{ at: string }>(['audit'])
      return { audit, ledger: json(['ledger']), keys: json(['keys']) }
    }
    const isSignedIn = async () => (await browser.open('/cabinet')).text.includes('/cabinet/keys')

    /** SIGKILL while it waits for this table. */
    const kill = async (table: string, mode: string, move: readonly string[]): Promise<void> => {
      const client = await connect(address)
      await client.unsafe('BEGIN')
      await client.unsafe(`LOCK TABLE ${table} IN ${mode} MODE`)
      const child = Bun.spawn([setup.cli.binary, 'store', 'move', ...move], {
        env: { ...setup.cli.env, ...env },
        ...{ stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' },
      })
      const waits = `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = '${table}'::regclass`
      await until(async () => (await client.unsafe(waits)).length > 0, `it waits for ${table}`)
      child.kill('SIGKILL')
      await child.exited
      await client.unsafe('ROLLBACK')
      const others =
        'SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()'
      await until(async () => (await client.unsafe(others)).length === 0, 'its connections ended')
      await client.close({ timeout: 0 })
    }
    const refused = (args: readonly string[], why: string): void =>
      expect(run(args)).toMatchObject({ code: 1, err: expect.stringContaining(why) })

    let before: ReturnType<typeof books>

    test('is not moved while it serves', async () => {
      refused(['store', 'move', '--to', store], 'stop it first')
      expect(await ask()).toBe(200)
      await setup.appliance.stop()
      before = books()
    })

    test.each(['ledger', 'slots'])('killed while it writes %s, it is as it was', async (table) => {
      env['GATEWAY_STORE'] = store
      json(['store', 'migrate'])
      delete env['GATEWAY_STORE']
      await kill(table, 'SHARE', ['--to', store])
      expect(books()).toEqual(before)
      const counted = await cluster.run(address, 'SELECT count(*)::int AS n FROM ledger')
      expect(counted).toEqual([{ n: 0 }])
    })

    test('goes on in PostgreSQL', async () => {
      const moved = json<MoveRecord>(['store', 'move', '--to', store])
      expect(moved).toMatchObject({ from: setup.cli.dataDir, accounts: 1 })
      refused(['keys', 'list'], 'opens no more')
      refused(['serve'], 'opens no more')
      refused(['store', 'move', '--to', store], 'opens no more')
      env['GATEWAY_STORE'] = store
      expect(books()).toEqual(before)
      await setup.restart()
      expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 429])
      expect(await isSignedIn()).toBe(true)
      refused(['store', 'move', '--from', store, '--data-dir', back], 'nodes serve from it')
      await setup.appliance.stop()
      before = books()
    })

    test('killed while it reads from there, it is as it was', async () => {
      env['GATEWAY_MASTER_KEY_FILE'] = join(setup.cli.dataDir, 'master.key')
      await kill('artifacts', 'ACCESS EXCLUSIVE', ['--from', store, '--data-dir', back])
      expect(existsSync(join(back, 'gateway.db'))).toBe(false)
      expect(books()).toEqual(before)
    })

    test('and comes back', async () => {
      const next = `GATEWAY_DATA_DIR=${back}, and the same master key, without GATEWAY_STORE`
      expect(run(['store', 'move', '--from', store, '--data-dir', back])).toMatchObject({
        code: 0,
        err: expect.stringContaining(next),
      })
      refused(['keys', 'list'], `was moved to ${back}`)
      refused(['store', 'migrate'], `was moved to ${back}`)
      refused(['store', 'status'], `was moved to ${back}`)
      delete env['GATEWAY_STORE']
      env['GATEWAY_DATA_DIR'] = back
      expect(books()).toEqual(before)
      const acts = json<readonly { verb: string }[]>(['activity', '--admin'])
      expect(acts.filter(({ verb }) => verb === 'store.move')).toHaveLength(2)
      await setup.restart()
      expect(await isSignedIn()).toBe(true)
      expect([200, 429]).toContain(await ask())
    })

    test('says which end is meant, and never a password', () => {
      const secret = 'postgres://gateway:hush-hush@@/'
      for (const end of ['--to', '--from']) {
        const { code, err } = run(['store', 'move', end, secret])
        expect([code, err]).toEqual([2, expect.not.stringContaining('hush')])
      }
      expect(run(['store', 'move'])).toMatchObject({ code: 2 })
      expect(run(['store', 'move', '--to', secret, '--from', secret])).toMatchObject({ code: 2 })
    })
  })
}
