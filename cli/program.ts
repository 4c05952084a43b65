/**
 * The program: finds the command, loads its file, runs it, and reports errors. What commands share is imported here, by way of
 * `gateway/operator.ts`: the bundler makes one chunk of it, where it would be eighty, of which each takes time to load.
 */
import { Command, CommanderError } from 'commander'
import type { Mount } from './action.ts'
import { globalFlags, signedAsOperands, splitWords } from './command-line.ts'
import { endWithError, usageError } from './exit.ts'
import { refuseSecrets } from './flags/read-secret.ts'
import { toLostOutput } from './gateway/operator.ts'
import { unreadableAnswer } from './gateway/served-version.ts'
import { NOUNS, type Noun } from './nouns.ts'
import { UnwritableError, writeOut } from './terminal/streams.ts'

/** Runs one command line; reports errors on standard error and in the exit code, and never throws. */
export async function runProgram(args: readonly string[]): Promise<void> {
  if (process.env['GATEWAYCTL_KEEPER']) {
    const { runAsProcess } = await import('./serve/processes.ts')
    return await runAsProcess(process.env['GATEWAYCTL_KEEPER'])
  }
  if (args[0] === '__complete') {
    const { complete } = await import('./completion/complete.ts')
    return await complete(args.slice(1)).catch(() => {})
  }
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args
  const style = { json: own.includes('--json'), debug: own.includes('--debug') }
  try {
    refuseSecrets(args)
    await dispatch(args)
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return
    endWithError(thrown, args, style)
  }
}

async function dispatch(args: readonly string[]): Promise<void> {
  const { words, rest } = splitWords(args)
  const [first, second] = words
  if (first === undefined || first === 'help') {
    const { showHelp } = await import('./help.ts')
    const instead = await showHelp(words.slice(1), rest)
    return instead === null ? undefined : await dispatch(instead)
  }
  const noun = NOUNS[first]
  if (noun === undefined) throw await unknownWord(first, second)
  try {
    await runNoun(first, noun, second, [...words.slice(1), ...rest])
  } catch (thrown) {
    throw thrown instanceof CommanderError ? toUsageError(thrown, words) : thrown
  }
}

/** A usage error from commander with a hint to the help page; its exits for help pass through. */
function toUsageError(thrown: CommanderError, words: readonly string[]): Error {
  if (thrown.exitCode === 0) return thrown
  const message = thrown.message.replace(/^error: /, '').replace(/\n?\((Did.*)\)$/, '\n$1')
  return usageError(message, `gatewayctl ${words.join(' ')} --help`)
}

async function runNoun(
  name: string,
  noun: Noun,
  second: string | undefined,
  operands: readonly string[],
): Promise<void> {
  const root = newProgram()
  if (noun.command) {
    const command = (await noun.command()).mount(root)
    globalFlags(command, name)
    if (wantsHelp(operands)) await addExamples(command, [name])
    await run(root, command, signedAsOperands(command, [name, ...operands]))
    return
  }
  const parent = root
    .command(name)
    .description(noun.summary)
    .helpCommand(false)
    .helpOption('-h, --help', 'show this help')
  const verb = second === undefined ? noun.bare : second
  const asksForHelp = second === undefined && wantsHelp(operands)
  const load = asksForHelp ? undefined : noun.verbs[verb]
  const command = load && (await load()).mount(parent)
  if (command) {
    globalFlags(command, name)
    if (wantsHelp(operands)) await addExamples(command, [`${name} ${verb}`])
  } else if (asksForHelp) {
    await mountAll(parent, noun)
    await addExamples(parent, verbsOf(name, noun))
  } else {
    throw await unknownVerb(name, verb, Object.keys(noun.verbs))
  }
  const line = second === undefined && !asksForHelp ? [noun.bare, ...operands] : operands
  const typed = [name, ...line]
  if (command) await run(root, command, signedAsOperands(command, typed))
  else await root.parseAsync(typed, { from: 'user' })
}

/** Runs the command; a refusal by a verb names the flag that was typed, and output that is lost says what was done. */
async function run(root: Command, command: Command, typed: readonly string[]): Promise<void> {
  try {
    await root.parseAsync(typed, { from: 'user' })
  } catch (thrown) {
    const lost = thrown instanceof UnwritableError ? thrown : unreadableAnswer(thrown)
    if (lost !== null) throw await toLostOutput(lost)
    const { nameFields } = await import('./flags/name-fields.ts')
    throw nameFields(thrown, command)
  }
}

const verbsOf = (name: string, noun: Noun): string[] =>
  Object.keys(noun.verbs).map((verb) => `${name} ${verb}`)

/** Mounts every verb of a noun, for its help page. */
async function mountAll(parent: Command, noun: Noun): Promise<void> {
  const files: readonly { readonly mount: Mount }[] = await Promise.all(
    Object.values(noun.verbs).map((load) => load()),
  )
  for (const { mount } of files) globalFlags(mount(parent), parent.name())
}

const wantsHelp = (args: readonly string[]): boolean =>
  args.some((arg) => arg === '-h' || arg === '--help')

async function addExamples(command: Command, names: readonly string[]): Promise<void> {
  const { examplesOf } = await import('./examples.ts')
  command.addHelpText('after', examplesOf(names))
}

/** A commander program that throws its errors, so that all are reported in one place. */
const newProgram = (): Command =>
  new Command('gatewayctl')
    .exitOverride()
    .configureOutput({ writeOut, writeErr: () => {} })
    .helpCommand(false)

/** The error for a misspelt verb, or for a name in the place of a verb. */
async function unknownVerb(name: string, verb: string, verbs: readonly string[]): Promise<Error> {
  const [{ didYouMean, nearest }, { shellWord }, { verbFor }] = await Promise.all([
    import('#forms/nearest.ts'),
    import('#forms/shell-word.ts'),
    import('./synonyms.ts'),
  ])
  const meant = verbFor(verb, verbs) ?? nearest(verb, verbs)
  const isOfMany = verbs.includes('list') && verbs.includes('show')
  const act = name === 'models' && verb.includes('*') ? 'list' : 'show'
  const perhaps =
    meant === undefined && isOfMany
      ? `        or: gatewayctl ${name} ${act} ${shellWord(verb)}`
      : ''
  return usageError(
    `there is no command "${name} ${verb}"${didYouMean(meant && `gatewayctl ${name} ${meant}`)}`,
    `gatewayctl ${name} --help${perhaps}`,
  )
}

/** The error for a misspelt noun, for another program's word, or for a verb before its noun. */
async function unknownWord(word: string, next: string | undefined): Promise<Error> {
  const [{ didYouMean, nearest }, { nounFor, verbFor }] = await Promise.all([
    import('#forms/nearest.ts'),
    import('./synonyms.ts'),
  ])
  const nouns = Object.keys(NOUNS)
  const named = next === undefined ? undefined : nearest(next, nouns)
  const verbs = named === undefined ? [] : Object.keys(NOUNS[named]?.verbs ?? {})
  const verb = verbs.includes(word) ? word : verbFor(word, verbs)
  const turned = verb === undefined ? undefined : `${named} ${verb}`
  const meant = turned ?? nounFor(word) ?? nearest(word, nouns)
  const suggestion = didYouMean(meant && `gatewayctl ${meant}`)
  return usageError(`there is no command "${word}"${suggestion}`, 'gatewayctl help')
}
