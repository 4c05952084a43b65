/** The compiled gateway with two accounts, a provisioning key for each, and a record of all output. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type Appliance, furnishCli, startAppliance } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary JSON
  readonly body: any
}

export interface Asked {
  readonly body?: unknown
  /** The secret; `boss` by default, none when empty. */
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface KeyGateway {
  readonly cli: CliHarness
  readonly gateway: Appliance
  /** A provisioning key of the first account, with a window of one request and no money. */
  readonly admin: string
  /** A provisioning key of the second account. */
  readonly rival: string
  readonly ordinary: string
  /** Every secret that was created. */
  readonly secrets: string[]
  /** Every response that did not create one. */
  readonly answers: string[]
  ask(method: string, path: string, asked?: Asked): Promise<Answer>
  /** Expects 201, or fails the test. */
  mint(fields?: object, key?: string): Promise<{ id: string; key: string; label: string }>
  /** SIGKILL, and a restart on the same data. */
  restart(): Promise<void>
  /** Stops the gateway and searches for every secret wherever none may be. */
  expectNoSecret(): Promise<void>
  close(): Promise<void>
}

export async function openKeyGateway(): Promise<KeyGateway> {
  const cli = furnishCli(openCli())
  let gateway = await startAppliance(cli)
  const secrets: string[] = []
  const answers: string[] = []
  let said = ''
  await gateway.verb('accounts.create', { name: 'rival' })
  const issue = async (name: string, more: object = {}): Promise<string> => {
    const { key } = await gateway.verb('keys.create', { name, ...more })
    secrets.push(key)
    return key
  }
  const admin = await issue('boss', {
    kind: 'provisioning',
    rpm_limit: 1,
    daily_spend_limit_usd: '0',
  })
  const rival = await issue('rival', { kind: 'provisioning', account: 'rival' })
  const ordinary = await issue('ordinary')

  const ask: KeyGateway['ask'] = async (method, path, { body, key = admin, headers } = {}) => {
    const response = await fetch(gateway.url + path, {
      method,
      headers: {
        ...(key !== '' && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const parsed = text === '' ? null : JSON.parse(text)
    if (response.status === 201) secrets.push(parsed.key)
    else answers.push(text)
    return { status: response.status, headers: response.headers, body: parsed }
  }

  return {
    cli,
    get gateway() {
      return gateway
    },
    admin,
    rival,
    ordinary,
    secrets,
    answers,
    ask,
    async mint(fields = {}, key = admin) {
      const { status, body } = await ask('POST', '/v1/keys', {
        body: { name: 'minted', ...fields },
        key,
      })
      expect([status, body.error]).toEqual([201, undefined])
      return body
    },
    async restart() {
      said += gateway.said()
      await gateway.kill()
      gateway = await startAppliance(cli)
    },
    async expectNoSecret() {
      said += gateway.said()
      await gateway.stop()
      const files = filesOf(cli.dataDir)
      const everything = [...answers, said, ...files].join('\n')
      const answered = answers.join('\n')
      for (const secret of secrets) {
        expect(everything.includes(secret)).toBe(false)
        const digest = Bun.SHA256.hash(secret, 'hex')
        const base64 = Buffer.from(digest, 'hex').toString('base64').replace(/=+$/, '')
        expect([digest, base64].filter((text) => answered.includes(text))).toEqual([])
        // Proof that the search works: it finds the digest where digests are kept, and the label where labels are shown.
        const kept = Buffer.from(digest, 'hex').toString('latin1')
        expect(files.some((text) => text.includes(kept))).toBe(true)
      }
      expect(answered).toContain(`${ordinary.slice(0, 9)}…${ordinary.slice(-4)}`)
      expect(said).toContain('"route":"keys.')
      expect(said).not.toContain('"fault"')
    },
    async close() {
      await gateway.kill()
      cli.close()
    },
  }
}

const filesOf = (directory: string): readonly string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
