/** `gatewayctl __complete -- WORD…`: candidates for the last word, one per line; `:files` stands for file completion by the shell. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Command, type Option } from 'commander'
import { DATABASE_FILE } from '#db/file-name.ts'
import type { Name, Named } from '#db/sqlite/files/names.ts'
import { globalFlags, splitWords, VALUED } from '../command-line.ts'
import { openContext } from '../context.ts'
import { NOUNS, type Noun } from '../nouns.ts'
import { clean } from '../terminal/clean.ts'
import { writeOut } from '../terminal/streams.ts'
import { type Kind, kindOf, type Place, valuesOf } from './kinds.ts'

/** Prints nothing on an error: a shell has no use for it. */
export async function complete(args: readonly string[]): Promise<void> {
  const typed = args[0] === '--' ? args.slice(1) : args
  const last = typed.at(-1) ?? ''
  // PowerShell passes an empty word as "".
  const current = last === '""' ? '' : last
  const candidates = await candidatesFor(typed.slice(0, -1), current)
  const lines = candidates
    .filter(({ value }) => value.startsWith(current) || value === FILES.value)
    .map(({ value, description }) => (description === '' ? value : `${value}\t${description}`))
  if (lines.length > 0) writeOut(`${lines.join('\n')}\n`)
}

const FILES: Name = { value: ':files', description: '' }

async function candidatesFor(before: readonly string[], current: string): Promise<readonly Name[]> {
  const [first, second] = splitWords(before).words
  if (first === undefined) return await forNothing(before, current)
  if (first === 'help') return second === undefined ? await helpWords() : []
  const noun = Object.hasOwn(NOUNS, first) ? NOUNS[first] : undefined
  if (noun === undefined) return []
  const isAlone = noun.command !== undefined
  const isVerb = second !== undefined && Object.hasOwn(noun.verbs, second)
  if (!isAlone && second === undefined && before.at(-1) === first && !current.startsWith('-')) {
    return await verbsOf(noun)
  }
  const command = await mounted(first, noun, isVerb ? second : noun.bare)
  if (command === null) return []
  return await forCommand({ noun: first, command, before, namedBy: isVerb ? 2 : 1 }, current)
}

/** Global flags may come before the words that name the command. */
async function forNothing(before: readonly string[], current: string): Promise<readonly Name[]> {
  const command = new Command()
  globalFlags(command, null)
  const isFlag = current.startsWith('-') || VALUED.has(before.at(-1) ?? '')
  return isFlag ? await forCommand({ noun: '', command, before, namedBy: 0 }, current) : topWords()
}

const topWords = (): readonly Name[] => [
  ...Object.entries(NOUNS).map(([value, { summary }]) => ({ value, description: summary })),
  { value: 'help', description: 'help pages and topics' },
]

async function helpWords(): Promise<readonly Name[]> {
  const { TOPIC_NAMES } = await import('../help.ts')
  return [...TOPIC_NAMES.map((value) => ({ value, description: 'topic' })), ...topWords()]
}

async function verbsOf({ verbs }: Noun): Promise<readonly Name[]> {
  return await Promise.all(
    Object.entries(verbs).map(async ([value, load]) => ({
      value,
      description: (await load()).mount(new Command()).description(),
    })),
  )
}

/** A command with its flags, as it would be run. */
async function mounted(
  name: string,
  noun: Noun,
  verb: string | undefined,
): Promise<Command | null> {
  const load = noun.command ?? (verb === undefined ? undefined : noun.verbs[verb])
  if (load === undefined) return null
  const found = (await load()).mount(new Command())
  globalFlags(found, name)
  return found
}

interface Line {
  readonly noun: string
  readonly command: Command
  readonly before: readonly string[]
  /** Number of words that name the command. */
  readonly namedBy: number
}

async function forCommand(line: Line, current: string): Promise<readonly Name[]> {
  const { noun, command, before } = line
  const [, stated = '', value = current] = /^(--[a-z-]+=)(.*)$/.exec(current) ?? []
  const flag = stated === '' ? (before.at(-1) ?? '') : stated.slice(0, -1)
  const option = command.options.find(({ long, short }) => long === flag || short === flag)
  if (option?.argChoices) {
    return option.argChoices.map((choice) => ({ value: stated + choice, description: '' }))
  }
  if (option && takesValue(option)) {
    const asked = { noun, name: (option.long ?? '').slice(2), placeholder: placeholderOf(option) }
    const found = await valuesFor(asked, before, value)
    return found.map((one) => (one === FILES ? one : { ...one, value: stated + one.value }))
  }
  if (current.startsWith('-')) return flagsOf(command)
  const { registeredArguments } = command
  const argument =
    registeredArguments[operandsOf(line).length] ?? registeredArguments.find((one) => one.variadic)
  if (argument === undefined) return []
  const name = command.name() === noun ? noun : `${noun} ${command.name()}`
  const asked = { noun, name, placeholder: argument.name() }
  return await valuesFor(asked, before, current)
}

const takesValue = ({ required, optional }: Option): boolean => required || optional

/** `--key-file <file>` is `file`. */
const placeholderOf = ({ flags }: Option): string => /[<[]([^>\].]+)/.exec(flags)?.[1] ?? ''

const flagsOf = ({ options }: Command): readonly Name[] => [
  ...options
    .filter(({ hidden, long }) => !hidden && long !== undefined)
    .map(({ long, description }) => ({ value: long ?? '', description })),
  { value: '--help', description: 'help for this command' },
]

/** The words typed so far that are neither flags, nor their values, nor the name of the command. */
function operandsOf({ command, before, namedBy }: Line): readonly string[] {
  const found: string[] = []
  for (let index = 0; index < before.length; index++) {
    const word = before[index] ?? ''
    const option = command.options.find(({ long, short }) => long === word || short === word)
    if (option && takesValue(option)) index++
    else if (!word.startsWith('-')) found.push(word)
  }
  return found.slice(namedBy)
}

async function valuesFor(
  asked: Place,
  before: readonly string[],
  current: string,
): Promise<readonly Name[]> {
  const fixed = valuesOf(asked)
  if (fixed.length > 0) return fixed.map((value) => ({ value, description: '' }))
  const kind = kindOf(asked)
  return kind === null ? [] : await ofKind(kind, before, current)
}

async function ofKind(
  kind: Kind,
  before: readonly string[],
  current: string,
): Promise<readonly Name[]> {
  if (kind === 'file') return [FILES]
  const dataDir = statedBefore(before, '--data-dir')
  const context = openContext(dataDir === undefined ? {} : { dataDir })
  const path = join(context.dataDir, DATABASE_FILE)
  if (!existsSync(path)) return []
  const { readNames } = await import('#db/sqlite/files/names.ts')
  const read = (what: Named, beginning = current): readonly Name[] =>
    readNames(path, what, beginning, statedBefore(before, '--account') ?? null).filter(isPlain)
  if (kind !== 'mask') return read(kind)
  const all = read('provider', current.replace(/\/.*/, '')).map(({ value }) => ({
    value: `${value}/*`,
    description: 'all models of this provider',
  }))
  return [...all, ...read('model')]
}

const statedBefore = (before: readonly string[], flag: string): string | undefined => {
  const place = before.lastIndexOf(flag)
  return place === -1 ? undefined : before[place + 1]
}

/** Leaves out names with control characters, which could affect the terminal, and those that would be read as flags. */
const isPlain = ({ value, description }: Name): boolean =>
  clean(value + description) === value + description &&
  !value.startsWith('-') &&
  value !== FILES.value
