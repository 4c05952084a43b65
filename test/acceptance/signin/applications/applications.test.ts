// Libraries and programs of other people sign a person in, each used as its own documents say, against the compiled program behind
// TLS. They are downloaded, so this is asked for by name: `npm run applications`.
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser as Chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { until } from '#test/support/appliance.ts'
import { CHROMIUM, openBrowser as openChromium } from '#test/support/browser.ts'
import { openPackages } from '#test/support/packages.ts'
import { openPython } from '#test/support/python.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { freePort } from '#test/support/tls-front.ts'
import { blocksOf } from '../../documented/pages.ts'
import { type Browser, openBrowser } from '../browser.ts'
import { openSigninGateway, type SigninGateway } from '../signin-gateway.ts'

const HERE = new URL('./', import.meta.url).pathname
const MAX_MS = 500_000

interface Application {
  /** Its file, and its packages. */
  readonly file: string
  readonly packages: readonly string[]
  /** Where it is sent back to; `/callback` if it is free to say. */
  readonly back?: string
  /** Of `clients create`. */
  readonly flags?: readonly string[]
}

const WITHOUT_PKCE = { flags: ['--no-require-pkce'] }

const APPLICATIONS: readonly Application[] = [
  {
    file: 'express-openid-connect.mjs',
    packages: ['express@5.3.0', 'express-openid-connect@3.4.0'],
  },
  {
    file: 'passport-openidconnect.mjs',
    packages: [
      'express@5.3.0',
      'express-session@1.19.0',
      'passport@0.7.0',
      'passport-openidconnect@0.1.2',
    ],
    ...WITHOUT_PKCE,
  },
  {
    file: 'grant.mjs',
    packages: ['express@5.3.0', 'express-session@1.19.0', 'grant@5.4.24'],
    back: '/connect/gateway/callback',
  },
  { file: 'arctic.mjs', packages: ['arctic@3.7.0'] },
  { file: 'badgateway.mjs', packages: ['@badgateway/oauth2-client@3.3.1'] },
  { file: 'msal-node.mjs', packages: ['@azure/msal-node@7.2.3'] },
  { file: 'simple-oauth2.mjs', packages: ['simple-oauth2@5.1.0'], ...WITHOUT_PKCE },
  { file: 'requests_oauthlib.py', packages: ['flask>=3', 'requests-oauthlib==2.0.0'] },
  { file: 'flask_pyoidc.py', packages: ['flask>=3', 'Flask-pyoidc==3.14.3'], ...WITHOUT_PKCE },
  {
    file: 'mozilla_django_oidc.py',
    packages: ['django>=5.2', 'mozilla-django-oidc==5.0.2', 'requests'],
    back: '/oidc/callback/',
  },
]

/** Debian's, with its modules; none of its own files. */
const MODULES = '/usr/lib/apache2/modules'
const APACHE = existsSync(`${MODULES}/mod_auth_openidc.so`)
  ? Bun.which('apache2', { PATH: `${process.env['PATH']}:/usr/sbin` })
  : null

const isAsked = process.env['GATEWAYCTL_APPLICATIONS'] === 'all'
if (isAsked && APACHE === null) {
  console.warn('apache: skipped, apt-get install apache2-bin libapache2-mod-auth-openidc')
}

describe.runIf(isAsked)('by its own documents', () => {
  let setup: SigninGateway

  beforeAll(async () => {
    setup = await openSigninGateway({}, { isBehindTls: true })
  })
  afterAll(() => setup?.close())

  /** A directory with the program and its packages, and how it is started there; or why it cannot be. */
  async function install({ file, packages }: Application) {
    if (file.endsWith('.py')) {
      const home = tempDirectory()
      writeFileSync(join(home, 'requirements.txt'), packages.join('\n'))
      const python = await openPython(join(home, 'requirements.txt'))
      if (typeof python === 'string') return python
      onTestFinished(() => python.close())
      copyFileSync(HERE + file, join(home, 'app.py'))
      return { home, command: [python.path, 'app.py'] }
    }
    const installed = await openPackages(packages)
    if (typeof installed === 'string') return installed
    onTestFinished(() => installed.close())
    copyFileSync(HERE + file, join(installed.home, 'app.mjs'))
    return { home: installed.home, command: ['node', 'app.mjs'] }
  }

  test.each(APPLICATIONS)(
    '$file',
    async (application) => {
      const installed = await install(application)
      if (typeof installed === 'string') throw new Error(installed)
      const home = `http://localhost:${await freePort()}`
      const { file, back = '/callback', flags = [] } = application
      const client = setup.register(file, '--redirect-uri', home + back, ...flags)
      const caFile = setup.caFile ?? ''
      const child = Bun.spawn([...installed.command], {
        cwd: installed.home,
        env: {
          PATH: process.env['PATH'] ?? '',
          HOME: installed.home,
          PORT: new URL(home).port,
          ISSUER: setup.authUrl,
          CLIENT_ID: client.client_id,
          CLIENT_SECRET: client.client_secret,
          NODE_EXTRA_CA_CERTS: caFile,
          REQUESTS_CA_BUNDLE: caFile,
          SSL_CERT_FILE: caFile,
        },
        stdout: 'inherit',
        stderr: 'inherit',
      })
      onTestFinished(async () => {
        child.kill()
        await child.exited
      })
      const begins = async () => (await fetch(home, { redirect: 'manual' })).status === 302
      await until(begins, 'it sends people to sign in', MAX_MS)
      const atHome = openBrowser(home)
      const atProvider = setup.browser()
      const email = `${file.replace(/\W/g, '-')}@example.org`
      const { url: authorize } = await atHome.open('/')
      const form = await atProvider.open(authorize)
      const { url: callback } = await setup.signIn(atProvider, form, email)
      expect((await atHome.open(callback)).text).toContain(`Hello ${email}`)
    },
    MAX_MS,
  )

  /** The one in the path, else one that Go builds. */
  async function oauth2Proxy(): Promise<string> {
    const found = Bun.which('oauth2-proxy')
    if (found !== null) return found
    const bin = tempDirectory()
    const proxy = 'github.com/oauth2-proxy/oauth2-proxy/v7'
    for (const command of [
      ['mod', 'init', 'app'],
      ['get', '-tool', `${proxy}@v7.15.4`],
      ['install', proxy],
    ]) {
      const made = Bun.spawn(['go', ...command], { cwd: bin, env: { ...process.env, GOBIN: bin } })
      expect([command, await made.exited]).toEqual([command, 0])
    }
    return join(bin, 'oauth2-proxy')
  }

  /** The settings of docs/applications.md in this language, with values of this test. */
  function documented(language: string, values: Readonly<Record<string, string>>): string {
    const text = blocksOf('docs/applications.md').find((one) => one.language === language)?.text
    return Object.entries(values).reduce((settings, [shown, value]) => {
      expect(settings).toContain(shown)
      return settings.replaceAll(shown, value)
    }, text ?? '')
  }

  /** Who of the group is let in, as `status`, and that nobody else is. */
  async function demandOneGroup(home: string, email: string, status: number): Promise<Browser> {
    setup.cli.json(['groups', 'add', 'staff', email])
    const begins = async () => (await fetch(home, { redirect: 'manual' })).status === 302
    await until(begins, 'it sends people to sign in', MAX_MS)
    const enter = async (who: string) => {
      const atHome = openBrowser(home)
      const atProvider = setup.browser()
      const { url: authorize } = await atHome.open('/')
      const page = await setup.signIn(atProvider, await atProvider.open(authorize), who)
      return { atHome, page: await atHome.open(page.url) }
    }
    const stranger = await enter(`not-${email}`)
    expect([401, 403]).toContain(stranger.page.status)
    const { atHome, page } = await enter(email)
    expect(page.status).toBe(status)
    return atHome
  }

  test(
    'oauth2-proxy lets one group in',
    async () => {
      const home = `http://localhost:${await freePort()}`
      const back = `${home}/oauth2/callback`
      const client = setup.register('Proxy', '--redirect-uri', back)
      const directory = tempDirectory()
      writeFileSync(join(directory, 'client-secret'), client.client_secret)
      const settings = documented('toml', {
        'https://auth.example.org': setup.authUrl,
        wiki_4k2m9x: client.client_id,
        '/etc/oauth2-proxy': directory,
        'https://wiki.example.org': home,
        '"…"': `"${'x'.repeat(32)}"`,
        '127.0.0.1:4180': new URL(home).host,
      })
      writeFileSync(join(directory, 'oauth2-proxy.cfg'), settings)
      // What is not as in the documents: a certificate of its own, http, and nothing behind it.
      const own = ['--cookie-secure=false', '--upstream=static://202']
      const child = Bun.spawn(
        [
          await oauth2Proxy(),
          ...['--config', join(directory, 'oauth2-proxy.cfg')],
          ...[`--provider-ca-file=${setup.caFile}`, ...own],
        ],
        { stdout: 'inherit', stderr: 'inherit' },
      )
      onTestFinished(async () => {
        child.kill()
        await child.exited
      })
      const email = 'proxied@example.org'
      const atHome = await demandOneGroup(home, email, 202)
      const said = await atHome.open('/oauth2/userinfo')
      expect(JSON.parse(said.text)).toMatchObject({ email, groups: ['staff'] })
    },
    MAX_MS,
  )

  test.skipIf(APACHE === null)(
    'Apache with mod_auth_openidc lets one group in',
    async () => {
      const home = `http://localhost:${await freePort()}`
      const client = setup.register('Pages', '--redirect-uri', `${home}/signed-in`)
      const directory = tempDirectory()
      writeFileSync(join(directory, 'cookie-secret'), 'y'.repeat(32))
      const wiki = Bun.serve({
        hostname: '127.0.0.1',
        port: 0,
        fetch: ({ headers }) => new Response(`the wiki of ${headers.get('x-person')}`),
      })
      onTestFinished(() => wiki.stop(true))
      const settings = documented('apache', {
        'https://auth.example.org': setup.authUrl,
        wiki_4k2m9x: client.client_id,
        'cs_Zk3…': client.client_secret,
        '/etc/apache2': directory,
        'http://127.0.0.1:8080/': wiki.url.href,
        'https://wiki.example.org': home,
      })
      const modules = [
        'mpm_event',
        'authn_core',
        'authz_core',
        'authz_user',
        'headers',
        'proxy',
        'proxy_http',
      ]
      const around = `ServerName localhost
Listen ${new URL(home).host}
PidFile ${directory}/pid
ErrorLog ${directory}/log
User nobody
Group nogroup
${[...modules, 'auth_openidc'].map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`).join('\n')}
OIDCCABundlePath ${setup.caFile}
`
      writeFileSync(join(directory, 'apache.conf'), around + settings)
      const child = Bun.spawn(
        [APACHE ?? '', '-f', join(directory, 'apache.conf'), '-DFOREGROUND'],
        {
          stdout: 'inherit',
          stderr: 'inherit',
        },
      )
      onTestFinished(async () => {
        child.kill()
        await child.exited
      })
      const email = 'paged@example.org'
      const atHome = await demandOneGroup(home, email, 200).catch((cause: unknown) => {
        throw new Error(readFileSync(join(directory, 'log'), 'utf8'), { cause })
      })
      expect((await atHome.open('/any')).text).toBe(`the wiki of ${email}`)
    },
    MAX_MS,
  )

  test.skipIf(CHROMIUM === null)(
    'oidc-client-ts, a page without a server of its own',
    async () => {
      const installed = await openPackages(['oidc-client-ts@3.5.0'])
      if (typeof installed === 'string') throw new Error(installed)
      onTestFinished(() => installed.close())
      const settings: Record<string, string> = { ISSUER: setup.authUrl }
      const script = join(
        installed.home,
        'node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js',
      )
      const server = Bun.serve({
        hostname: 'localhost',
        port: 0,
        fetch: async ({ url }) => {
          if (url.endsWith('.js')) return new Response(Bun.file(script))
          const page = await Bun.file(`${HERE}oidc-client-ts.html`).text()
          const given = `<script>window.settings = ${JSON.stringify(settings)}</script>`
          return new Response(given + page, { headers: { 'content-type': 'text/html' } })
        },
      })
      onTestFinished(() => server.stop(true))
      const home = `http://localhost:${server.port}/`
      const made = setup.register('Page', '--public', '--redirect-uri', home)
      settings['CLIENT_ID'] = made.client_id
      const chromium: Chromium = await openChromium()
      onTestFinished(() => chromium.close())
      const context = await chromium.newContext({ ignoreHTTPSErrors: true })
      const page = await context.newPage()
      await page.goto(home)
      await page.waitForSelector('input[name=email]')
      const email = 'page@example.org'
      await page.fill('input[name=email]', email)
      await page.keyboard.press('Enter')
      await page.waitForSelector('input[name=code]')
      await page.fill('input[name=code]', await setup.codeFor(email))
      await page.keyboard.press('Enter')
      // It is sent back to this machine, as another program could be too.
      await page.getByRole('button', { name: 'Allow', exact: true }).click()
      await page.getByText(`Hello ${email}`).waitFor()
    },
    MAX_MS,
  )
})
