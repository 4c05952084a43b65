// TLS to PostgreSQL: what each sslmode accepts, what a refusal says, and that nobody on the way reads along.
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Address, readAddress } from '#db/postgres/engine/address.ts'
import { openConnections } from '#db/postgres/engine/connections.ts'
import { migrate } from '#db/postgres/engine/migrate.ts'
import {
  asOther,
  initialize,
  launch,
  ownDirectory,
  type Running,
} from '#scripts/postgres-package.ts'
import { freePort } from '#test/support/free-port.ts'
import { claimAt, issue, openNode, settle } from '#test/support/nodes.ts'
import { connect, POSTGRES_BIN } from '#test/support/postgres.ts'

vi.setConfig({ testTimeout: 60_000 })

const PATIENCE_MS = 1_000

/** `SSLRequest`, before which nothing may be said. */
const SSL_REQUEST = '0000000804d2162f'

/** Hands bytes on, and keeps those of the client. */
async function openRelay(port: number) {
  const sent: Buffer[] = []
  const sockets = new Set<Socket>()
  const server = createServer((outer) => {
    const inner = dial(port, '127.0.0.1')
    for (const [from, to] of [
      [outer, inner],
      [inner, outer],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
      from.on('data', (bytes: Buffer) => {
        if (from === outer) sent.push(bytes)
        to.write(bytes)
      })
    }
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const cut = (): void => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  onTestFinished(cut)
  return { port: (server.address() as AddressInfo).port, sent: () => Buffer.concat(sent), cut }
}

const openssl = Bun.which('openssl')

if (POSTGRES_BIN === null || openssl === null) {
  test.skip('PostgreSQL, or openssl, is not installed', () => {})
} else {
  const bin = POSTGRES_BIN
  describe('a server', () => {
    const other = asOther()
    const directory = ownDirectory(other)
    const place = (name: string): string => join(directory, name)
    const port = freePort()
    let running: Running | null = null

    const ask = (...words: readonly string[]): void => {
      execFileSync(openssl, words, { cwd: directory, stdio: 'ignore' })
    }
    const makeKey = (name: string): readonly string[] => [
      ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
      ...['-keyout', `${name}.key`, '-subj', `/CN=${name}`],
    ]
    const makeAuthority = (name: string): void =>
      ask('req', '-x509', ...makeKey(name), '-out', `${name}.pem`, '-days', '2')
    const certify = (name: string, names: string): void => {
      ask('req', ...makeKey(name), '-out', `${name}.csr`)
      writeFileSync(place(`${name}.ext`), `subjectAltName=${names}\n`)
      const by = ['-CA', 'authority.pem', '-CAkey', 'authority.key', '-CAcreateserial']
      const out = ['-out', `${name}.pem`, '-days', '2', '-extfile', `${name}.ext`]
      ask('x509', '-req', '-in', `${name}.csr`, ...by, ...out)
      for (const file of [place(`${name}.key`), place(`${name}.pem`)]) {
        chmodSync(file, 0o600)
        if (other.uid !== undefined && other.gid !== undefined)
          chownSync(file, other.uid, other.gid)
      }
    }
    const stop = async (): Promise<void> => {
      running?.server.kill('SIGQUIT')
      await running?.ended
    }
    /** With this certificate, or without TLS. */
    const serve = async (certificate: string | null): Promise<void> => {
      await stop()
      const tls =
        certificate === null
          ? []
          : [
              'ssl=on',
              `ssl_cert_file=${place(`${certificate}.pem`)}`,
              `ssl_key_file=${place(`${certificate}.key`)}`,
            ]
      const settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'fsync=off', ...tls]
      running = launch(bin, place('data'), other, directory, settings)
      const path = place(`.s.PGSQL.${port}`)
      const own = { hosts: [{ path }], username: 'postgres', database: 'postgres' }
      await (await connect(own)).close({ timeout: 0 })
    }
    const addressOf = (query: string, hosts = `localhost:${port}`): Address => {
      const address = readAddress(`postgres://postgres@${hosts}/postgres?${query}`)
      const { rootCertificate: file } = address
      return file ? { ...address, tls: { verify: true, ca: readFileSync(file, 'utf8') } } : address
    }
    /** Whether what is asked goes there encrypted; soon without an answer, unlike a request. */
    const isEncrypted = async (address: Address): Promise<boolean | undefined> => {
      const connections = openConnections(address)
      try {
        const { pool } = await connections.open(PATIENCE_MS)
        const [row] = (await pool.unsafe(
          'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
        )) as { readonly ssl: boolean }[]
        return row?.ssl
      } finally {
        await connections.close()
      }
    }
    const trusting = (name: string): string =>
      `sslmode=verify-full&sslrootcert=${place(`${name}.pem`)}`
    const refusal = (said: string, hint: string) => ({
      code: 'store_unavailable',
      // Which host, and what it said, is for operators alone.
      message: 'the gateway cannot reach its database; nothing was taken or charged',
      details: expect.objectContaining({
        told: expect.stringContaining(said),
        hint: expect.stringContaining(hint),
      }),
    })

    beforeAll(async () => {
      makeAuthority('authority')
      makeAuthority('stranger')
      certify('server', 'DNS:localhost,IP:127.0.0.1')
      certify('misnamed', 'DNS:elsewhere.example')
      initialize(bin, place('data'), other)
      await serve('server')
      await migrate(addressOf('sslmode=require'))
    })
    afterAll(async () => {
      await stop()
      rmSync(directory, { recursive: true, force: true })
    })

    test('with a certificate of a trusted authority is reached, by name and by number', async () => {
      await serve('server')
      for (const host of ['localhost', '127.0.0.1']) {
        const address = addressOf(trusting('authority'), `${host}:${port}`)
        expect(await isEncrypted(address)).toBe(true)
      }
      expect(await isEncrypted(addressOf('sslmode=require'))).toBe(true)
      expect(await isEncrypted(addressOf(''))).toBe(true)
      expect(await isEncrypted(addressOf('sslmode=disable'))).toBe(false)
    })

    test('of another authority, or of none that is known, is refused where it is verified', async () => {
      await serve('server')
      for (const query of [trusting('stranger'), 'sslmode=verify-full']) {
        await expect(isEncrypted(addressOf(query))).rejects.toMatchObject(
          refusal('unable to verify the first certificate', 'sslrootcert=FILE'),
        )
      }
    })

    test('with a certificate for another name is refused where it is verified', async () => {
      await serve('misnamed')
      for (const host of ['localhost', '127.0.0.1']) {
        const address = addressOf(trusting('authority'), `${host}:${port}`)
        await expect(isEncrypted(address)).rejects.toMatchObject(
          refusal('does not match', 'subjectAltNames'),
        )
      }
      expect(await isEncrypted(addressOf('sslmode=require'))).toBe(true)
    })

    test('without TLS is not spoken to, and hears no user name', async () => {
      await serve(null)
      for (const query of ['sslmode=require', trusting('authority')]) {
        const relay = await openRelay(port)
        const address = addressOf(query, `localhost:${relay.port}`)
        await expect(isEncrypted(address)).rejects.toMatchObject(
          refusal('does not support SSL', 'ssl = on at the server'),
        )
        const sent = relay.sent().toString('hex')
        expect(sent).toMatch(new RegExp(`^(${SSL_REQUEST})+$`))
      }
      expect(await isEncrypted(addressOf('sslmode=disable'))).toBe(false)
    })

    test('hears nothing in plain text but that TLS is asked for', async () => {
      await serve('server')
      for (const query of ['sslmode=require', trusting('authority')]) {
        const relay = await openRelay(port)
        expect(await isEncrypted(addressOf(query, `localhost:${relay.port}`))).toBe(true)
        const sent = relay.sent()
        expect(sent.subarray(0, 8).toString('hex')).toBe(SSL_REQUEST)
        for (const word of ['postgres', 'pg_stat_ssl']) expect(sent.includes(word)).toBe(false)
      }
      const open = await openRelay(port)
      await isEncrypted(addressOf('sslmode=disable', `localhost:${open.port}`))
      expect(open.sent().includes('postgres')).toBe(true)
    })

    test('that takes encrypted connections alone says so', async () => {
      const rules = place('data/pg_hba.conf')
      const before = readFileSync(rules, 'utf8')
      writeFileSync(rules, 'local all all trust\nhostssl all all all trust\n')
      try {
        await serve('server')
        await expect(isEncrypted(addressOf('sslmode=disable'))).rejects.toMatchObject(
          refusal('no encryption', 'sslmode=require'),
        )
        expect(await isEncrypted(addressOf('sslmode=require'))).toBe(true)
      } finally {
        writeFileSync(rules, before)
      }
    })

    test('that falls away leaves its clients to the next host, over TLS again and verified', async () => {
      await serve('server')
      const [first, second] = [await openRelay(port), await openRelay(port)]
      const hosts = `localhost:${first.port},localhost:${second.port}`
      const store = await openNode(addressOf(trusting('authority'), hosts), 'a')
      const key = await issue(store, {})
      const serveOne = async (): Promise<void> => {
        const claim = claimAt(store, key)
        expect(await store.admissions.admit(claim)).toMatchObject({ admitted: true })
        expect(await settle(store, claim, '0.01')).toBe(true)
      }
      await serveOne()
      expect(second.sent()).toHaveLength(0)
      first.cut()
      await vi.waitFor(serveOne, { timeout: 20_000 })
      const sent = second.sent()
      expect(sent.subarray(0, 8).toString('hex')).toBe(SSL_REQUEST)
      for (const word of ['postgres', key.id]) expect(sent.includes(word)).toBe(false)
      expect((await store.audit()).findings).toEqual([])
    })
  })
}
