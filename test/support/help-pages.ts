/** The help pages of many commands from one process: most of what a command costs is its start. */
import { NOUNS } from '#cli/nouns.ts'

/** Every noun, and every verb of it: `keys`, `keys create`. */
export const COMMANDS: readonly string[] = Object.entries(NOUNS).flatMap(
  ([noun, { command, verbs }]) =>
    command ? [noun] : [noun, ...Object.keys(verbs).map((verb) => `${noun} ${verb}`)],
)

export interface HelpPage {
  readonly code: number
  readonly out: string
}

/** The command that the words of a line begin with; what follows its verb are names. */
export const commandOf = (words: readonly string[]): string =>
  words.slice(0, NOUNS[words[0] ?? '']?.command ? 1 : 2).join(' ')

/** The page of each of these commands, by its words. */
export function helpPages(commands: readonly string[]): ReadonlyMap<string, HelpPage> {
  const lines = commands.map((words) => [...words.split(' '), '--help'])
  const child = new URL('children/help-pages.ts', import.meta.url).pathname
  const { stdout } = Bun.spawnSync([process.execPath, child, JSON.stringify(lines)])
  const told = stdout.toString().split('\0')
  return new Map(
    commands.map((words, at) => [
      words,
      { out: told[2 * at] ?? '', code: Number(told[2 * at + 1] ?? Number.NaN) },
    ]),
  )
}
