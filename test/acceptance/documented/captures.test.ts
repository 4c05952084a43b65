/**
 * docs/operator/dashboard.md shows what tmux shows of the compiled binary: the words of each frame, line by line.
 * `GATEWAYCTL_CAPTURES=1 npm test -- test/acceptance/documented/captures.test.ts` writes them anew.
 */
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { openTerminal, TMUX } from '#test/support/tmux.ts'
import { blocksOf, ROOT, readPage } from './pages.ts'

const PAGE = 'docs/operator/dashboard.md'
const isWritten = process.env['GATEWAYCTL_CAPTURES'] !== undefined
const SIZES = [
  [80, 30],
  [120, 36],
  [200, 40],
] as const
const SCREENS = [
  ['1', 'Live'],
  ['6', 'Trend'],
] as const

const STREAMS = 8
const REFUSED = 4

let cli: CliHarness
let gateway: Appliance
const readers: Promise<unknown>[] = []

async function ask(key: string, more: object = {}): Promise<Response> {
  const messages = [{ role: 'user', content: 'What would a quiet afternoon look like?' }]
  return await gateway.chat(key, { model: 'demo/lorem', max_tokens: 60, messages, ...more })
}

beforeAll(async () => {
  if (TMUX === null) return
  cli = furnishCli(openCli(), '50')
  gateway = await startAppliance(cli)
  const make = async (name: string, limits: object): Promise<string> =>
    (await gateway.verb('keys.create', { name, ...limits })).key
  const web = await make('prod-web', { rpm_limit: 300, daily_spend_limit_usd: '25' })
  const monthly = { daily_spend_limit_usd: '5', monthly_spend_limit_usd: '40' }
  const batch = await make('batch', monthly)
  const ci = await make('ci', { rpm_limit: 10, daily_spend_limit_usd: '0.05' })
  for (let n = 0; n < 10; n++) {
    for (const key of [web, batch, ci]) expect((await ask(key)).status).toBe(200)
  }
  for (let n = 0; n < REFUSED; n++) expect((await ask(ci)).status).toBe(429)
  for (let n = 0; n < STREAMS; n++) {
    // The first ones end last, so that each stands in its place as long as anybody looks.
    const stream = { stream: true, max_tokens: 100_000, user: `rate-${2 * (n + 1)}` }
    const { body } = await ask(n % 2 === 0 ? batch : web, stream)
    const reader = body?.getReader()
    await reader?.read()
    const read = async (): Promise<void> => {
      while ((await reader?.read())?.done === false);
    }
    readers.push(read().catch(() => {}))
  }
}, 60_000)
afterAll(async () => {
  await gateway?.kill()
  await Promise.all(readers)
  cli?.close()
})

/** Without empty lines beyond one, and at the usual port; the line with it keeps its width. */
const tidy = (screen: string): string =>
  screen
    .replace(
      /(127\.0\.0\.1:)(\d+)(.*? {3})/,
      (_, host, port, rest) => `${host}4140${rest}${' '.repeat(port.length - 4)}`,
    )
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line, row, all) => line !== '' || (all[row - 1] ?? '') !== '')
    .join('\n')
    .trimEnd()

async function capture(columns: number, rows: number): Promise<readonly string[]> {
  const terminal = await openTerminal(cli, columns, rows)
  terminal.send(`${BINARY} dashboard`, 'Enter')
  await terminal.shows(`${STREAMS} of ${STREAMS}`)
  // For the eye, who looks at it comes a little later.
  if (isWritten) await terminal.shows(/demo\/lorem +[1-9]\d\.\ds|rate-\d+ +[1-9]\d\.\ds/)
  const frames: string[] = []
  for (const [key, title] of SCREENS) {
    terminal.send(key)
    await terminal.shows(title === 'Live' ? /demo\/lorem.*≋ *$/m : /─ days ─+ last 14 d ─/)
    await until(() => /q quit\s*$/.test(terminal.screen()), 'it is whole')
    frames.push(tidy(terminal.screen()))
  }
  terminal.send('q')
  return frames
}

/** What does not change from day to day: no figures, bars, curves, durations or ids, nor how long a ceiling lasts. */
const words = (line: string): string =>
  line
    .replace(/\b(?:lasts|used up)\b.*/, '')
    .replaceAll(/\b[0-9a-z]{8}\b|[~>]?(?:\d+[dhms])+\b|[~>]?\d[\d.,: ]*[kM]?/g, ' ')
    .replaceAll(/[^\p{L}$%/?[\]]+/gu, ' ')
    .trim()

test.skipIf(TMUX === null)(
  'the dashboard is documented as it is, at three widths',
  { timeout: 120_000 },
  async () => {
    const frames: string[] = []
    for (const [columns, rows] of SIZES) frames.push(...(await capture(columns, rows)))
    if (isWritten) {
      let next = 0
      const page = readPage(PAGE).replaceAll(
        /^```\n[^`]*\n```$/gm,
        () => `\`\`\`\n${frames[next++]}\n\`\`\``,
      )
      writeFileSync(ROOT + PAGE, page)
    }
    const documented = blocksOf(PAGE).map(({ text }) => text.trimEnd())
    expect(documented.map((text) => text.split('\n').map(words))).toEqual(
      frames.map((text) => text.split('\n').map(words)),
    )
  },
)
