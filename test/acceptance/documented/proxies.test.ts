// The documented nginx in front of the compiled gateway: streams, large bodies, clients that hang up, a gateway that dies.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { freePort } from '#test/support/free-port.ts'
import {
  oks,
  type SyntheticUpstream,
  startSyntheticUpstream,
} from '#test/support/synthetic-upstream.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { blocksOf, PAGES } from './pages.ts'

const nginx = Bun.which('nginx', { PATH: `${process.env['PATH']}:/usr/sbin` })
if (!nginx) console.warn('nginx: skipped, not on the PATH')

const FIXTURES = new URL('../../upstream/http1/fixtures/', import.meta.url)
const CERTIFICATE = fileURLToPath(new URL('localhost-cert.pem', FIXTURES))
const KEY = fileURLToPath(new URL('localhost-key.pem', FIXTURES))

const servers = PAGES.flatMap((page) =>
  blocksOf(page)
    .filter(({ language }) => language === 'nginx')
    .map(({ text, line }) => ({ page, where: `${page}:${line}`, text })),
)
const gatewayServer = servers.find(({ page }) => page === 'docs/install.md')?.text ?? ''

/** The arguments of an nginx that has one documented server, on another port; it stays in the foreground. */
function configure(directory: string, server: string, port: number): readonly string[] {
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => {
    mkdirSync(join(directory, kind), { recursive: true })
    return `${kind}_temp_path ${join(directory, kind)};`
  })
  const file = join(directory, 'nginx.conf')
  writeFileSync(
    file,
    `daemon off; master_process off; pid ${directory}/pid;
events {}
http {
  access_log off;
  ${places.join(' ')}
  ssl_certificate ${CERTIFICATE};
  ssl_certificate_key ${KEY};
  ${server.replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)}
}`,
  )
  return [nginx ?? '', '-p', directory, '-e', join(directory, 'log'), '-c', file]
}

test('every page that speaks of a TLS proxy has its server', () => {
  expect(servers.map(({ page }) => page)).toEqual([
    'docs/applications.md',
    'docs/install.md',
    'docs/sign-in.md',
  ])
})

test('nginx waits longer than a request may take, and takes bodies as large as the gateway does', () => {
  const guide = blocksOf('docs/operator/settings.md').map(({ text }) => text)
  const total = /^total_timeout = "(\d+)m"/m.exec(guide.join('\n'))?.[1]
  expect(Number(/proxy_read_timeout (\d+)m;/.exec(gatewayServer)?.[1])).toBeGreaterThan(
    Number(total),
  )
  const limit = /The limits of a body: (\d+) MiB/.exec(readFileSync('docs/api.md', 'utf8'))?.[1]
  expect(gatewayServer).toContain(`client_max_body_size ${limit}m;`)
})

describe.skipIf(!nginx)('nginx', () => {
  test.each(servers)('takes the server of $where', ({ text }) => {
    const { exitCode, stderr } = Bun.spawnSync([
      ...configure(tempDirectory(), text, freePort()),
      '-t',
      '-q',
    ])
    expect([exitCode, stderr.toString()]).toEqual([0, ''])
  })
})

describe.skipIf(!nginx)('behind the documented nginx', () => {
  const chat = { kind: 'chat', promptTokens: 10, completionTokens: 40, chunks: oks(40) } as const
  const answers = {
    whole: chat,
    stuck: { ...chat, breaksOff: { afterChunks: 1, ending: 'silence' } },
  } as const
  let upstream: SyntheticUpstream<keyof typeof answers>
  const cli = openCli()
  const port = freePort()
  let gateway: Appliance
  let proxy: Bun.Subprocess
  let key = ''

  beforeAll(async () => {
    furnishCli(cli)
    upstream = await startSyntheticUpstream(answers)
    for (const [name, url] of Object.entries(upstream.baseUrls)) {
      const at = ['--type', 'openai-compatible', '--base-url', url, '--no-key', '--no-check']
      cli.json(['providers', 'add', name, ...at])
      const prices = ['--in-usd', '0.1', '--out-usd', '0.1']
      cli.json(['models', 'add', `${name}/m`, '--provider', name, '--upstream', 'm', ...prices])
    }
    ;({ key } = cli.json<{ key: string }>(['keys', 'create', 'through-nginx']))
    gateway = await startAppliance(cli)
    const server = gatewayServer.replace('127.0.0.1:4140', new URL(gateway.url).host)
    proxy = Bun.spawn([...configure(join(cli.home, 'nginx'), server, port)], {
      stdout: 'ignore',
      stderr: 'ignore',
    })
    await until(async () => (await ask('/readyz')).status === 200, 'nginx passes requests on')
  })
  afterAll(async () => {
    proxy?.kill('SIGKILL')
    await proxy?.exited
    await gateway?.kill()
    await upstream?.stop()
    cli.close()
  })

  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`https://localhost:${port}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      tls: { ca: readFileSync(CERTIFICATE, 'utf8') },
    })
  const post = (body: unknown, init: RequestInit = {}): Promise<Response> =>
    ask('/v1/chat/completions', { ...init, method: 'POST', body: JSON.stringify(body) })
  const messages = [{ role: 'user', content: 'hi' }]

  /** A stream of which the first word has come, and no other will. */
  async function openStuckStream(init: RequestInit = {}) {
    const { body } = await post({ model: 'stuck/m', stream: true, messages }, init)
    const reader = (body as ReadableStream<Uint8Array>).getReader()
    const decoder = new TextDecoder()
    for (let text = ''; !text.includes('"content":"ok "'); ) {
      const { value, done } = await reader.read()
      if (done) throw new Error(`it ended: ${text}`)
      text += decoder.decode(value, { stream: true })
    }
    return reader
  }

  test('a body of 8 MB arrives', async () => {
    const content = 'word '.repeat(1_600_000)
    const answer = await post({ model: 'whole/m', messages: [{ role: 'user', content }] })
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { usage: { prompt_tokens: 10 } },
    ])
  })

  test('a word is passed on at once, and a client that hangs up lets the provider go', async () => {
    const client = new AbortController()
    await openStuckStream({ signal: client.signal })
    client.abort()
    await until(
      async () => (await upstream.requests()).some(({ aborted }) => aborted),
      'the provider is let go',
    )
  })

  test('a gateway that dies in the middle of a stream does not look like its end', async () => {
    const reader = await openStuckStream()
    await gateway.kill()
    await expect(reader.read()).rejects.toThrow()
  })
})
