// The applications of docs/sign-in.md, run unchanged against the compiled program behind TLS.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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

/** If set, the Go modules are downloaded, and the Go application is run too. */
const MAY_FETCH = process.env['GATEWAYCTL_SNIPPETS'] === 'all'

let setup: SigninGateway

beforeAll(async () => {
  setup = await openSigninGateway({}, { isBehindTls: true })
})
afterAll(() => setup.close())

/** The first code block in a language. */
function blockIn(language: string): string {
  const { text } = blocksOf('docs/sign-in.md').find((one) => one.language === language) ?? {}
  expect(text).toMatch(/./)
  return text ?? ''
}

function run(directory: string, ...command: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync([...command], { cwd: directory })
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stderr}`)
}

interface Recipe {
  readonly name: string
  readonly language: string
  readonly file: string
  /** Installs what the program needs, and returns how to start it, or why it cannot be started. */
  prepare(directory: string): readonly string[] | Promise<readonly string[] | string>
  readonly isReady: boolean
}

const RECIPES: readonly Recipe[] = [
  {
    name: 'Node with openid-client',
    language: 'js',
    file: 'app.mjs',
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
    language: 'python',
    file: 'app.py',
    isReady: FULL,
    async prepare() {
      const python = await openPython(join(ROOT, 'test/acceptance/signin/authlib/requirements.txt'))
      if (typeof python === 'string') return python
      onTestFinished(() => python.close())
      return [python.path, 'app.py']
    },
  },
  {
    name: 'Go with go-oidc',
    language: 'go',
    file: 'main.go',
    isReady: MAY_FETCH && Bun.which('go') !== null,
    prepare(directory) {
      run(directory, 'go', 'mod', 'init', 'app')
      run(directory, 'go', 'mod', 'tidy')
      run(directory, 'go', 'build', '-o', 'app', '.')
      return ['./app']
    },
  },
]

/** Starts the program on a port of its own, registered as documented; null where it cannot be started. */
async function start({ name, language, file, prepare }: Recipe): Promise<string | null> {
  const directory = tempDirectory()
  writeFileSync(join(directory, file), blockIn(language))
  const command = await prepare(directory)
  if (typeof command === 'string') {
    console.warn(`snippets: skipped, ${command}`)
    return null
  }
  const home = `http://localhost:${await freePort()}`
  const client = setup.register(name, '--redirect-uri', `${home}/callback`)
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
      const email = `${recipe.language}@example.org`
      const { url: authorize } = await atHome.open('/')
      expect(authorize).toContain('code_challenge_method=S256')
      const form = await atProvider.open(authorize)
      const { url: callback } = await setup.signIn(atProvider, form, email)
      // The same address in a browser that did not request it signs nobody in.
      const stranger = await openBrowser(home).open(callback)
      expect(stranger.status).toBeGreaterThanOrEqual(400)
      expect(stranger.status).toBeLessThan(500)
      expect(stranger.text).not.toContain('Hello')
      const { url: again } = await atHome.open('/')
      const back = await atProvider.open(again)
      const page = await atHome.open(back.url)
      expect(page.text).toMatch(new RegExp(`^Hello ${email}, known as usr_[0-9a-z]{26}$`))
    },
    400_000,
  )
}
