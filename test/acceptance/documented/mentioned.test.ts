// Commands, flags and scripts that the pages mention in passing: each is one that there is.
import { afterAll, expect, test } from 'vitest'
import { VARIABLES } from '#cli/config/unknown-variables.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { COMMANDS, commandOf, helpPages } from '#test/support/help-pages.ts'
import project from '../../../package.json' with { type: 'json' }
import { PAGES, readPage } from './pages.ts'

const cli = openCli()
afterAll(() => cli.close())

const nouns = [...cli.run(['help']).out.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, noun]) => noun)

const pages = helpPages(COMMANDS)

/** The page of a command, or of a topic; empty when there is none of these words. */
const helpOf = (words: readonly string[]): string =>
  words[0] === 'help' ? cli.run(words).out : (pages.get(commandOf(words))?.out ?? '')

/** What stands between backticks in running text, on one line or over two. */
const inlineCode = (page: string): readonly string[] =>
  [
    ...readPage(page)
      .replaceAll(/^```.*?^```$/gms, '')
      .matchAll(/`([^`]+)`/g),
  ].map(([, code = '']) => code.replaceAll(/\s+/g, ' '))

/** Why there is no such command; null where there is, or where it is none. */
function complaintOf(code: string): string | null {
  const isNamed = code.startsWith('gatewayctl ')
  const words = code.replace(/^gatewayctl /, '').split(' ')
  const isCommand = nouns.includes(words[0] ?? '') && /^[a-z-]/.test(words[1] ?? '')
  if (!isNamed && !isCommand) return null
  const end = words.findIndex((word) => !/^[a-z][a-z-]*$/.test(word))
  const command = words.slice(0, end === -1 ? undefined : end)
  if (command.length === 0) return null
  const page = helpOf(command)
  if (page === '') return `no such command: ${code}`
  const flags = code.match(/(?<= |^)--[a-z][a-z-]*/g) ?? []
  // A bare noun is its first verb.
  const verbs = command.length === 1 ? ['list', 'show', 'report'] : []
  const pages = [page, ...verbs.map((verb) => helpOf([...command, verb]))].join('\n')
  const strange = flags.filter((flag) => !new RegExp(`${flag}(?![a-z-])`).test(pages))
  return strange.length > 0 ? `${command.join(' ')} has no ${strange.join(' ')}` : null
}

test.each(PAGES)('%s mentions commands and flags that there are', (page) => {
  expect(inlineCode(page).flatMap((code) => complaintOf(code) ?? [])).toEqual([])
})

test('npm runs what the pages say', () => {
  const scripts = Object.keys(project.scripts)
  const named = PAGES.flatMap((page) =>
    [...readPage(page).matchAll(/npm run ([a-z]+)/g)].map(([, name = '']) => name),
  )
  expect(named.length).toBeGreaterThan(0)
  expect(named.filter((name) => !scripts.includes(name))).toEqual([])
})

test('the variables that the pages name are read, and all that are read are in the help', () => {
  const named = PAGES.flatMap(
    (page) => readPage(page).match(/\bGATEWAY_[A-Z_]+[A-Z](?!…)\b/g) ?? [],
  )
  expect(named.length).toBeGreaterThan(0)
  expect([...new Set(named)].filter((name) => !VARIABLES.includes(name))).toEqual([])
  const help = [...helpOf(['help', 'environment']).matchAll(/GATEWAY_[A-Z_]+…?/g)].map(
    ([one]) => one,
  )
  const isTold = (name: string): boolean =>
    help.some((one) => (one.endsWith('…') ? name.startsWith(one.slice(0, -1)) : name === one))
  expect(VARIABLES.filter((name) => !isTold(name))).toEqual([])
})
