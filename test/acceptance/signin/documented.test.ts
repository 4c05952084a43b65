// The programs of docs/applications.md, run unchanged against the compiled program behind TLS.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { until } from '#test/support/appliance.ts'
import { openPython } from '#test/support/python.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { FULL } from '#test/support/tier.ts'
import { freePort } from '#test/support/tls-front.ts'
import { blocksOf } from '../documented/pages.ts'
import { openBrowser } from './browser.ts'
import { openSigninGateway, type SigninGateway } from './signin-gateway.ts'

const ROOT = new URL('../../../', import.meta.url).pathname

/** If set, what Go and Java build is downloaded, and their programs are run too. */
const MAY_FETCH = process.env['GATEWAYCTL_APPLICATIONS'] === 'all'

let setup: SigninGateway

beforeAll(async () => {
  setup = await openSigninGateway({}, { isBehindTls: true })
})
afterAll(() => setup.close())

/** The first code block in a language. */
function blockIn(language: string): string {
  const { text } = blocksOf('docs/applications.md').find((one) => one.language === language) ?? {}
  expect(text).toMatch(/./)
  return text ?? ''
}

function run(directory: string, ...command: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync([...command], { cwd: directory })
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stderr}`)
}

interface Recipe {
  readonly name: string
  /** Where it is sent back to; `/callback` if nothing else is said. */
  readonly back?: string
  /** Its files, each the block in this language. */
  readonly files: Readonly<Record<string, string>>
  /** What tells it which certificate to trust, where it is none of the usual variables. */
  trusts?(directory: string, caFile: string): Readonly<Record<string, string>>
  /** Installs what the program needs, and returns how to start it, or why it cannot be started. */
  prepare(directory: string): readonly string[] | Promise<readonly string[] | string>
  readonly isReady: boolean
}

const RECIPES: readonly Recipe[] = [
  {
    name: 'Node with openid-client',
    files: { 'app.mjs': 'js' },
    isReady: Bun.which('node') !== null,
    prepare(directory) {
      mkdirSync(join(directory, 'node_modules'))
      for (const name of ['openid-client', 'oauth4webapi', 'jose']) {
        symlinkSync(join(ROOT, 'node_modules', name), join(directory, 'node_modules', name))
      }
      return ['node', '--preserve-symlinks', 'app.mjs']
    },
  },
  {
    name: 'Python with Authlib',
    files: { 'app.py': 'python' },
    isReady: FULL || MAY_FETCH,
    async prepare() {
      const python = await openPython(join(ROOT, 'test/acceptance/signin/authlib/requirements.txt'))
      if (typeof python === 'string') return python
      onTestFinished(() => python.close())
      return [python.path, 'app.py']
    },
  },
  {
    name: 'Go with go-oidc',
    files: { 'main.go': 'go' },
    isReady: MAY_FETCH && Bun.which('go') !== null,
    prepare(directory) {
      run(directory, 'go', 'mod', 'init', 'app')
      run(directory, 'go', 'mod', 'tidy')
      run(directory, 'go', 'build', '-o', 'app', '.')
      return ['./app']
    },
  },
  {
    name: 'Java with Spring Security',
    files: {
      'pom.xml': 'xml',
      'src/main/resources/application.properties': 'properties',
      'src/main/java/org/example/App.java': 'java',
    },
    back: '/login/oauth2/code/gateway',
    isReady: MAY_FETCH && Bun.which('mvn') !== null,
    prepare(directory) {
      run(directory, 'mvn', '--quiet', '--batch-mode', 'package')
      return ['java', '-jar', 'target/app-1.jar']
    },
    trusts(directory, caFile) {
      const store = ['-keystore', 'trusted.p12', '-storepass', 'changeit']
      run(directory, 'keytool', '-importcert', '-noprompt', '-file', caFile, ...store)
      const set = '-Djavax.net.ssl.trustStore'
      return { JAVA_TOOL_OPTIONS: `${set}=trusted.p12 ${set}Password=changeit` }
    },
  },
]

/** As long as Java takes on a busy machine. */
const START_MS = 60_000

/** Starts the program on a port of its own, registered as documented; null where it cannot be started. */
async function start({
  name,
  files,
  back = '/callback',
  trusts,
  prepare,
}: Recipe): Promise<string | null> {
  const directory = tempDirectory()
  for (const [file, language] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, file)), { recursive: true })
    writeFileSync(join(directory, file), blockIn(language))
  }
  const command = await prepare(directory)
  if (typeof command === 'string') {
    console.warn(`snippets: skipped, ${command}`)
    return null
  }
  const home = `http://localhost:${await freePort()}`
  const client = setup.register(name, '--redirect-uri', home + back)
  const child = Bun.spawn([...command], {
    cwd: directory,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: directory,
      PORT: new URL(home).port,
      ISSUER: setup.authUrl,
      CLIENT_ID: client.client_id,
      CLIENT_SECRET: client.client_secret,
      // The variables in which each runtime names additional trusted certificates.
      NODE_EXTRA_CA_CERTS: setup.caFile ?? '',
      REQUESTS_CA_BUNDLE: setup.caFile ?? '',
      SSL_CERT_FILE: setup.caFile ?? '',
      ...trusts?.(directory, setup.caFile ?? ''),
    },
    stdout: 'ignore',
    stderr: 'ignore',
  })
  onTestFinished(async () => {
    child.kill()
    await child.exited
  })
  await until(
    async () => (await fetch(home, { redirect: 'manual' })).status === 302,
    'it sends people to sign in',
    START_MS,
  )
  return home
}

for (const recipe of RECIPES) {
  test.skipIf(!recipe.isReady)(
    `${recipe.name} greets who signed in, and nobody else`,
    async ({ skip }) => {
      const home = await start(recipe)
      if (home === null) return skip()
      const atHome = openBrowser(home)
      const atProvider = setup.browser()
      const email = `${recipe.name.split(' ')[0]?.toLowerCase()}@example.org`
      const { url: authorize } = await atHome.open('/')
      expect(authorize).toContain('code_challenge_method=S256')
      const form = await atProvider.open(authorize)
      const { url: callback } = await setup.signIn(atProvider, form, email)
      // The same address in a browser that did not request it signs nobody in.
      const stranger = await openBrowser(home).open(callback)
      expect(stranger.text).not.toContain('Hello')
      // Spring leads to a page of its own that says so.
      const isTold = stranger.url.endsWith('/login?error')
      expect(isTold || (stranger.status >= 400 && stranger.status < 500)).toBe(true)
      const { url: again } = await atHome.open('/')
      const back = await atProvider.open(again)
      const page = await atHome.open(back.url)
      expect(page.text).toMatch(new RegExp(`^Hello ${email}, known as usr_[0-9a-z]{26}$`))
    },
    400_000,
  )
}
