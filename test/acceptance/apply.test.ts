// `apply` and `export` as typed by an operator: plan, confirmation, result, with the gateway up and down.
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'

const cli = openCli()
const path = join(cli.home, 'gateway.toml')
const CREDENTIAL = 'sk-canary-of-acme-1234567890'

const FILE = `
[rates]
usd_rub = "91.5"

[[accounts]]
name = "default"
threshold_usd = "20.00"

[[providers]]
name = "acme"
base_url = "https://acme.example/v1"
from_env = "ACME_KEY"

[[models]]
id = "acme/one"
price = { in_usd = "1", out_usd = "2" }

[[keys]]
name = "ci"
rpm_limit = 60
daily_spend_limit_usd = "5.00"
allowed_models = ["acme/*", "demo/*"]

[[keys]]
name = "web"
`
const write = (text: string): void => writeFileSync(path, text)
const apply = (
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = { ACME_KEY: CREDENTIAL },
) => cli.run(['apply', '-f', path, ...flags], { env })

beforeAll(() => {
  furnishCli(cli)
  write(FILE)
})
afterAll(() => cli.close())

describe('with the gateway down', () => {
  test('a dry run prints the plan, needs no credential, and changes nothing', () => {
    const { code, out, err } = apply(['--dry-run'], {})
    expect([code, err]).toEqual([0, '4 to add, 2 to change\n'])
    expect(out).toContain('~ rate USD/RUB\n    rub_per_usd 90 → 91.5\n')
    expect(out).toContain('~ account default\n    threshold_usd none → 20.00\n')
    expect(out).toMatch(/^\+ provider acme {2}type openai-compatible/m)
    expect(out).toMatch(/^\+ key default\/ci .*rpm_limit 60, daily_spend_limit_usd 5\.00/m)
    expect(cli.json<{ name: string }[]>(['keys', 'list']).map(({ name }) => name)).toEqual([
      'default',
    ])
  })

  test('a script must say yes, and has shown the plan by then', () => {
    const { code, out, err } = apply()
    expect([code, out]).toEqual([5, ''])
    expect(err).toContain('+ key default/ci')
    expect(err).toContain(`gatewayctl apply -f ${path} --yes`)
  })

  test('a credential that is not there stops it before anything is done', () => {
    const { code, err } = apply(['--yes'], {})
    expect([code, err]).toEqual([2, expect.stringContaining('takes its credential from ACME_KEY')])
    expect(cli.json<unknown[]>(['providers', 'list'])).toHaveLength(1)
  })

  test('applied, secrets are on standard output, once; applied again, nothing changes', () => {
    const { code, out, err } = apply(['--yes'])
    expect([code, err]).toEqual([0, expect.stringContaining('✓ 4 added, 2 changed')])
    expect(err).not.toContain('if-')
    const lines = out
      .trim()
      .split('\n')
      .map((line) => line.split('\t'))
    expect(lines.map(([kind, name]) => [kind, name])).toEqual([
      ['key', 'default/ci'],
      ['key', 'default/web'],
    ])
    expect(lines[0]?.[3]).toMatch(/^if-[0-9A-Za-z]{49}$/)
    const again = apply(['--yes'])
    expect([again.code, again.out, again.err]).toEqual([0, '', '✓ nothing to change\n'])
  })

  test('an error names its line and place in the file, and what was meant', () => {
    write(`${FILE}daily_spend_limit_usd = 5\n`)
    const last = FILE.split('\n').length
    expect(apply(['--dry-run']).err).toContain(
      `${path}:${last}: keys.1.daily_spend_limit_usd: must be a string: send "5" and not 5`,
    )
    const misspelt = [
      [
        '[[keys]]\nname = "a"\nrpm_limt = 5',
        '3: keys.0.rpm_limt: there is no such field; did you mean rpm_limit?',
      ],
      ['[rate]\nusd_rub = "95"', '1: rate: there is no such field; did you mean rates?'],
      ['[rates]\nquite_another = 1', '2: rates.quite_another: there is no such field\n'],
      // What is misspelt is missing as well; that is the effect.
      [
        '[[models]]\nid = "a/b"\n[models.price]\nin_us = "1"\nout_usd = "1"',
        '4: models.0.price.in_us: there is no such field; did you mean in_usd?',
      ],
      [
        '[[keys]]\nname = "a"\nkind = "ordinry"',
        '3: keys.0.kind: must be "ordinary" or "provisioning" (got "ordinry")',
      ],
    ] as const
    for (const [text, words] of misspelt) {
      write(text)
      const { code, out, err } = apply(['--yes'])
      expect([code, out, err]).toEqual([1, '', expect.stringContaining(`error: ${path}:${words}`)])
    }
    write('[rates]\n[[keys]\n')
    expect(apply()).toMatchObject({
      code: 2,
      err: expect.stringContaining(`${path}:2 is not TOML`),
    })
    expect(cli.run(['apply', '-f', join(cli.home, 'no')]).err).toContain('cannot read')
    expect(cli.run(['apply'])).toMatchObject({ code: 2 })
  })
})

describe('with the gateway up', () => {
  let gateway: Appliance
  beforeAll(async () => {
    gateway = await startAppliance(cli)
  })
  afterAll(async () => {
    await gateway.stop()
  })

  test('what is exported is what there is, and has no secret', () => {
    const { code, out } = cli.run(['export'])
    expect(code).toBe(0)
    expect(out).toMatch(/^# Written by gatewayctl export/)
    expect(out).toContain('from_env = "ACME_API_KEY"')
    expect(out).not.toContain(CREDENTIAL)
    expect(out).not.toMatch(/if-[0-9A-Za-z]{6}/)
    write(out)
    expect(apply(['--prune', '--dry-run'])).toMatchObject({
      code: 0,
      out: '',
      err: 'nothing to change\n',
    })
    const file = join(cli.home, 'exported.toml')
    expect(cli.run(['export', '--out', file]).code).toBe(0)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readFileSync(file, 'utf8').trim()).toBe(out.trim())
    expect(cli.run(['export', '--out', file])).toMatchObject({ code: 1 })
    expect(cli.run(['export', '--out', '-']).out).toBe(out)
  })

  test('a limit of the file holds from the next request; secrets go into a file of their own', async () => {
    const out = join(cli.home, 'secrets')
    write('[[keys]]\nname = "late"\nallowed_models = ["acme/*"]\n')
    expect(apply(['--yes', '--secrets-out', out])).toMatchObject({ code: 0, out: '' })
    expect(statSync(out).mode & 0o777).toBe(0o600)
    const [kind, name, , secret = ''] = readFileSync(out, 'utf8').trim().split('\t')
    expect([kind, name]).toEqual(['key', 'default/late'])
    const ask = { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }
    expect((await gateway.chat(secret, ask)).status).toBe(403)
    write('[[keys]]\nname = "late"\nallowed_models = ["demo/*"]\n')
    expect(apply(['--yes']).code).toBe(0)
    expect((await gateway.chat(secret, ask)).status).toBe(200)
    write('[[keys]]\nname = "ci"\n')
    expect(apply(['--dry-run', '--prune']).out).toContain('- key default/late')
    expect(apply(['--yes', '--prune']).code).toBe(0)
    expect((await gateway.chat(secret, ask)).status).toBe(401)
  })

  test('an end that has come is found before anything is done, and one that a key has may stay', async () => {
    const past = 'expires_at = "2020-01-01T00:00:00Z"'
    write(`[[keys]]\nname = "first"\n[[keys]]\nname = "old"\n${past}\n`)
    const refused = `error: ${path}:5: keys.1.expires_at: must be a time in the future`
    for (const flags of [['--dry-run'], ['--yes']]) {
      const { code, out, err } = apply(flags)
      expect([code, out, err]).toEqual([1, '', expect.stringContaining(refused)])
    }
    const names = cli.json<{ name: string }[]>(['keys', 'list']).map(({ name }) => name)
    expect(names).not.toContain('first')
    const soon = new Date(Date.now() + 1_000).toISOString()
    write(`[[keys]]\nname = "brief"\nexpires_at = "${soon}"\n`)
    expect(apply(['--yes']).code).toBe(0)
    await until(() => Date.now() > Date.parse(soon), 'it has ended')
    expect(apply(['--yes']).err).toBe('✓ nothing to change\n')
    expect(cli.run(['export']).err).toContain(`key "brief" expired at ${soon}`)
    expect(cli.run(['keys', 'revoke', 'brief', '--yes']).code).toBe(0)
  })

  test('what only this gateway can apply says so, and what to type against it', () => {
    expect(cli.run(['models', 'alias', 'gpt', 'demo/echo']).code).toBe(0)
    expect(cli.run(['export']).err).toContain('alias "gpt" names demo/echo, a model of the demo')
    expect(cli.run(['models', 'unalias', 'gpt']).code).toBe(0)
    const ids = [1, 2].map(() => cli.json<{ id: string }>(['keys', 'create', 'twin']).id)
    const { code, out, err } = cli.run(['export'])
    expect(code).toBe(0)
    const reason = /keys (key_\w+), (key_\w+) have the same name "twin"/
    expect(reason.exec(err)?.slice(1).toSorted()).toEqual(ids.toSorted())
    expect(out).toMatch(
      /^# .*, but not to another gateway, because\n# {3}keys key_\w+, key_\w+ have the same name/,
    )
    write(out)
    expect(apply(['--dry-run']).err).toBe('nothing to change\n')
    const next = /next: gatewayctl (.+) --name NEW/.exec(err)?.[1]?.split(' ') ?? []
    expect(cli.run([...next, '--name', 'other']).code).toBe(0)
    expect(cli.run(['export'])).toMatchObject({
      err: '',
      out: expect.stringContaining('or to another gateway'),
    })
  })

  test('the answer as JSON has the steps and the secrets', () => {
    write('[[keys]]\nname = "json"\n')
    const { code, out } = apply(['--yes', '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({
      steps: [{ op: 'add', kind: 'key', name: 'default/json' }],
      done: 1,
      failure: null,
      secrets: [{ kind: 'key', name: 'default/json', secret: expect.stringMatching(/^if-/) }],
    })
  })
})
