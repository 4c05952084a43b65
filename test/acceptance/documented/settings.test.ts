// Files that the pages show: settings that `serve` would start with, a gateway that `apply` would make, receivers of webhooks.
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { furnishCli, startAppliance } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { type Received, startReceiver } from '#test/support/receiver.ts'
import { blocksOf, PAGES } from './pages.ts'

const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url))
const GUIDE = 'docs/operator/low-balance.md'

let cli: CliHarness
beforeAll(() => {
  cli = furnishCli(openCli())
})
afterAll(() => cli?.close())

const files = PAGES.flatMap((page) =>
  blocksOf(page)
    .filter(({ language }) => language === 'toml')
    .map(({ text, line }) => ({ where: `${page}:${line}`, text })),
)
const OF_OTHERS = 'oauth2-proxy'
const isConfiguration = (text: string): boolean => text.includes('[[')
const settings = files.filter(({ text }) => !isConfiguration(text) && !text.includes(OF_OTHERS))

test.each(settings)('$where is a file of settings', ({ text }) => {
  const path = join(cli.home, 'config.toml')
  writeFileSync(path, text)
  const { code, err } = cli.run(['config', 'check', path])
  expect(code, err).toBe(0)
})

test.each(files.filter(({ text }) => isConfiguration(text)))('$where is a gateway', ({ text }) => {
  const path = join(cli.home, 'gateway.toml')
  writeFileSync(path, text)
  const azure = ['providers', 'add', 'azure', '--base-url', 'https://azure.example.org']
  expect(cli.run(azure, { stdin: 'sk-x' }).code).toBe(0)
  const env = { OPENAI_API_KEY: 'sk-x' }
  const plan = cli.run(['apply', '--dry-run', '-f', path], { env })
  expect(plan.code, plan.err).toBe(0)
  const made = cli.run(['apply', '--yes', '-f', path], { env })
  expect(made.code, made.err).toBe(0)
  const again = cli.run(['apply', '--dry-run', '-f', path], { env })
  expect([again.code, again.out]).toEqual([0, ''])
})

describe('a receiver of webhooks', () => {
  /** What a gateway really sends, and the secret that it signs it with. */
  async function sent(): Promise<{ one: Received; secret: string }> {
    const { url, received } = startReceiver(() => new Response(null, { status: 204 }))
    const gateway = await startAppliance(cli, { env: { GATEWAY_ALLOW_LOOPBACK_WEBHOOKS: '1' } })
    onTestFinished(() => gateway.kill())
    const set = cli.run(['thresholds', 'set', '--below', '1', '--webhook', `${url}/hook`])
    const again = set.out.includes('whsec_')
      ? set
      : cli.run(['thresholds', 'set', '--rotate-secret'])
    const secret = /whsec_[\w+/=]+/.exec(again.out)?.[0] ?? ''
    const { code, err } = await cli.runBeside(['thresholds', 'test', 'webhook'])
    expect(code, err).toBe(0)
    return { one: received[0] as Received, secret }
  }
  const programOf = (language: string): string =>
    blocksOf(GUIDE).find((one) => one.language === language)?.text ?? ''

  /** Whether the program ends well with what was sent, and with one byte more. */
  const judge = ({ headers, body }: Received, env: Record<string, string>, ...command: string[]) =>
    [body, `${body} `].map((text) => {
      const { exitCode } = Bun.spawnSync([...command, text, JSON.stringify(headers)], {
        cwd: cli.home,
        env: { ...cli.env, ...env },
      })
      return exitCode === 0
    })

  test.skipIf(Bun.which('python3') === null)('in Python believes it alone', async () => {
    const { one, secret } = await sent()
    const program = `import json, os, sys
${programOf('python')}
verify(os.environ["SECRET"], json.loads(sys.argv[2]), sys.argv[1].encode())`
    expect(judge(one, { SECRET: secret }, 'python3', '-c', program)).toEqual([true, false])
  })

  test('in JavaScript believes it alone', async () => {
    const { one, secret } = await sent()
    const program = `const [, , rawBody, headers] = process.argv
const request = { headers: JSON.parse(headers) }
${programOf('js')}`
    writeFileSync(join(cli.home, 'receiver.mjs'), program)
    symlinkSync(MODULES, join(cli.home, 'node_modules'))
    const command = ['node', '--preserve-symlinks', '--preserve-symlinks-main', 'receiver.mjs']
    expect(judge(one, { WEBHOOK_SECRET: secret }, ...command)).toEqual([true, false])
  })
})
