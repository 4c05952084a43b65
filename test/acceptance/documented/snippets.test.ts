// The programs of README.md and docs/clients.md, run as they stand against the demo, with what their first lines say to install.
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { openPackages, type Packages } from '#test/support/packages.ts'
import { openPython, type Python } from '#test/support/python.ts'
import { FULL } from '#test/support/tier.ts'
import { blocksOf } from './pages.ts'

const INSTALL_MS = 400_000
const RUN_MS = 60_000

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

let cli: CliHarness
let gateway: Appliance
let env: Readonly<Record<string, string>>

beforeAll(async () => {
  cli = furnishCli(openCli())
  gateway = await startAppliance(cli)
  const limits = ['--rpm', '60', '--daily-usd', '5', '--allow', 'demo/*']
  const key = cli.run(['keys', 'create', 'prod-web', ...limits]).out.trim()
  env = { ...cli.env, OPENAI_BASE_URL: `${gateway.url}/v1`, OPENAI_API_KEY: key }
})
afterAll(async () => {
  await gateway?.kill()
  cli?.close()
})

/** The one program of a page in a language that has this in it. */
function programOf(page: string, language: string, part: string): string {
  const found = blocksOf(page).filter((one) => one.language === language && one.text.includes(part))
  expect(found, `${page}: ${part}`).toHaveLength(1)
  return found[0]?.text ?? ''
}

/** Runs it in a directory and answers what it printed; it must end well. */
async function run(
  home: string,
  command: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd: home,
    env: { ...env, HOME: home, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: RUN_MS,
  })
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
  expect(await child.exited, err).toBe(0)
  return out
}

const isPng = (path: string): boolean =>
  readFileSync(path).subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))

const WORDS = 'one word after another'

describe('JavaScript', () => {
  let home: string
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'gwctl-snippets-'))
    symlinkSync(join(ROOT, 'node_modules'), join(home, 'node_modules'))
  })
  afterAll(() => rmSync(home, { recursive: true, force: true }))
  const runProgram = (page: string, part: string): Promise<string> => {
    writeFileSync(join(home, 'program.mjs'), programOf(page, 'js', part))
    return run(home, ['node', '--preserve-symlinks', '--preserve-symlinks-main', 'program.mjs'])
  }

  test('the README: whole, streamed, an image', async () => {
    expect(await runProgram('README.md', 'import OpenAI')).toMatch(
      new RegExp(`^\\d\\d 0\\.00108\\n${WORDS}$`),
    )
    expect(isPng(join(home, 'fox.png'))).toBe(true)
  })

  test('a refusal', async () => {
    const said = await runProgram('docs/clients.md', 'import OpenAI')
    expect(said).toMatch(/^404 model_not_found undefined req_\w+\n$/)
  })
})

// Their packages are installed first, which takes longer than all that is tried with them.
describe.runIf(FULL)('Vercel AI SDK', () => {
  let packages: Packages | string
  beforeAll(async () => {
    packages = await openPackages(readFileSync(here('packages.txt'), 'utf8').trim().split('\n'))
    if (typeof packages === 'string') console.warn(`snippets: skipped, ${packages}`)
  }, INSTALL_MS)
  afterAll(() => {
    if (typeof packages !== 'string') packages?.close()
  })

  test('whole and streamed', async ({ skip }) => {
    if (typeof packages === 'string') return skip()
    const { home } = packages
    writeFileSync(
      join(home, 'program.mjs'),
      programOf('docs/clients.md', 'js', '@ai-sdk/openai-compatible'),
    )
    expect(await run(home, ['node', 'program.mjs'])).toBe(`${WORDS} 0.00108\n${WORDS}`)
  })
})

describe.runIf(FULL)('Python', () => {
  let python: Python | string
  let home: string
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'gwctl-snippets-'))
    python = await openPython(here('requirements.txt'))
    if (typeof python === 'string') console.warn(`snippets: skipped, ${python}`)
  }, INSTALL_MS)
  afterAll(() => {
    rmSync(home, { recursive: true, force: true })
    if (typeof python !== 'string') python?.close()
  })
  const runProgram = (page: string, part: string, skip: TestContext['skip']): Promise<string> => {
    if (typeof python === 'string') return skip()
    return run(home, [python.path, '-c', programOf(page, 'python', part)])
  }

  test('the README: whole, streamed, an image', async ({ skip }) => {
    const said = await runProgram('README.md', 'OpenAI()', skip)
    expect(said).toMatch(new RegExp(`^\\d\\d 0\\.00108\\n${WORDS}1\\.2e-05$`))
    expect(isPng(join(home, 'fox.png'))).toBe(true)
  })

  test('a refusal', async ({ skip }) => {
    const said = await runProgram('docs/clients.md', 'APIStatusError', skip)
    expect(said).toMatch(/^404 model_not_found None req_\w+\n$/)
  })

  test('LangChain', async ({ skip }) => {
    const said = await runProgram('docs/clients.md', 'langchain_openai', skip)
    expect(said).toBe(`${WORDS} 8 0.00108\n${WORDS}`)
  })

  test('llm', async ({ skip }) => {
    if (typeof python === 'string') return skip()
    const script = programOf('docs/clients.md', 'sh', 'llm -m')
    const path = `${dirname(python.path)}:${env['PATH']}`
    expect(await run(home, ['bash', '-euc', script], { PATH: path })).toBe(`${WORDS}\n`)
  })
})
