// What the README shows of a running gateway is what one shows: the frame of the dashboard, and the banner of the demo.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { blocksOf } from './pages.ts'

const blockWith = (part: string): readonly string[] =>
  (blocksOf('README.md').find(({ text }) => text.includes(part))?.text ?? '').trimEnd().split('\n')

let cli: CliHarness
let gateway: Appliance
beforeAll(async () => {
  cli = furnishCli(openCli())
  gateway = await startAppliance(cli)
})
afterAll(async () => {
  await gateway?.kill()
  cli?.close()
})

/** Without figures, bars and what fills a line: what is left are the words, in their order. */
const words = (line: string): string => line.replaceAll(/[^\p{L}$%/?]+/gu, ' ').trim()

test('the frame of the dashboard has the words of today', () => {
  const shown = blockWith('[1 Live]')
  const { code, out } = cli.run(['dashboard', '--once'], { env: { LINES: `${shown.length}` } })
  expect(code).toBe(0)
  const drawn = out.trimEnd().split('\n')
  expect(shown).toHaveLength(drawn.length)
  expect(shown.map((line) => line.length).filter((length) => length > 80)).toEqual([])
  // The tabs, the line of the errors, and the keys of the screen stand where they stood.
  for (const part of ['[1 Live]', 'recent errors', 'filter']) {
    const at = drawn.findIndex((line) => line.includes(part))
    expect(at, part).toBeGreaterThan(0)
    expect(words(shown[at] ?? ''), part).toBe(words(drawn[at] ?? ''))
  }
  const figures = (lines: readonly string[]) =>
    ['serving', 'in flight', 'tok/s', 'TTFT', 'today $', 'month $', 'balance $', 'runway'].map(
      (part) => lines.findIndex((line) => line.includes(part)),
    )
  expect(figures(shown)).toEqual(figures(drawn))
})

test('the banner of the demo has the lines that are shown', async () => {
  const demo = await startAppliance(cli, { flags: ['--demo'], signin: true })
  const said = demo.said().split('\n').map(words)
  await demo.kill()
  const shown = blockWith('npm run demo').slice(1).map(words)
  for (const line of shown.filter((one) => one !== '')) {
    const start = line.replace(/if.*$/, '').trim()
    expect(said.some((one) => one.startsWith(start))).toBe(true)
  }
})
