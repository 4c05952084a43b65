/** The command line before it is parsed: the words that name a command, and the global flags. */
import { type Command, Option } from 'commander'
import { usageError } from './exit.ts'
import { NOUNS } from './nouns.ts'
import { OF_ACCOUNT } from './of-account.ts'

/** The flags of every command, and their descriptions. */
const GLOBAL_FLAGS: readonly (readonly [flags: string, description: string])[] = [
  ['--json', 'one JSON document on standard output'],
  ['-q, --quiet', 'ids only, one per line'],
  ['-y, --yes', 'answer yes to confirmations'],
  ['--no-input', 'never prompt (implied when standard input is not a terminal)'],
  ['--no-color', 'no colour (also NO_COLOR)'],
  ['--debug', 'print the stack trace of an error'],
  ['--data-dir <dir>', 'data directory of the gateway (GATEWAY_DATA_DIR)'],
  ['--config <file>', 'configuration file (GATEWAY_CONFIG)'],
]

const ACCOUNT_FLAG = '--account <name>'

const EVERY_COMMAND = 'Global options:'

const KNOWN_FLAGS: ReadonlySet<string> = new Set(
  [...GLOBAL_FLAGS.map(([flags]) => flags), ACCOUNT_FLAG].join(' ').split(/[ ,]+/),
)

/** The flags of every command of a noun; null where it is not typed yet. */
export function globalFlags(command: Command, noun: string | null): void {
  for (const [flags, description] of GLOBAL_FLAGS) {
    command.addOption(new Option(flags, description).helpGroup(EVERY_COMMAND))
  }
  const account = new Option(ACCOUNT_FLAG, 'act only on this account: name or id')
  command.addOption(
    noun === null || OF_ACCOUNT.has(noun)
      ? account.helpGroup(EVERY_COMMAND)
      : account.hideHelp().argParser(() => {
          throw usageError(
            `--account does not apply to "${wordsOf(command)}", which concerns the whole gateway`,
            noun === 'notices'
              ? 'what concerns one account: gatewayctl notices list --of ACCOUNT'
              : `gatewayctl ${wordsOf(command)} --help`,
          )
        }),
  )
  command.addHelpOption(new Option('-h, --help', 'show this help').helpGroup(EVERY_COMMAND))
}

/** The words that name a mounted command, without the program's own. */
const wordsOf = (command: Command): string =>
  command.parent?.parent ? `${command.parent.name()} ${command.name()}` : command.name()

/** Global flags that take a value; they may come before the words that name the command. */
export const VALUED = new Set(['--data-dir', '--config', '--account'])

/**
 * The words that name a command, and all the rest in its order: `--data-dir /x keys --json list --sort name` is
 * `keys list` + `--data-dir /x --json --sort name`.
 */
export function splitWords(args: readonly string[]): {
  readonly words: readonly string[]
  readonly rest: readonly string[]
} {
  const words: string[] = []
  const rest: string[] = []
  let index = 0
  for (; index < args.length && words.length < 2; index++) {
    const arg = args[index] ?? ''
    if (arg === '--') break
    if (!arg.startsWith('-')) {
      // A command without verbs takes operands at once.
      if (words.length === 1 && NOUNS[words[0] ?? '']?.command) break
      words.push(arg)
      continue
    }
    rest.push(arg)
    const isKnown = KNOWN_FLAGS.has(arg)
    if (VALUED.has(arg)) rest.push(args[++index] ?? '')
    // A flag of the command itself: what follows may be its value.
    else if (!isKnown && words.length > 0) {
      index++
      break
    }
  }
  return { words, rest: [...rest, ...args.slice(index)] }
}

/** "-100rub", "-$5": a negative amount. No flag begins with a digit. */
const SIGNED_AMOUNT = /^-\$?\d/

/**
 * The same line with negative amounts, and the operands after them, behind a `--`: the parser would take them for flags.
 * Values of flags stay where they are.
 */
export function signedAsOperands(
  { options }: Pick<Command, 'options'>,
  args: readonly string[],
): readonly string[] {
  const kept: string[] = []
  const operands: string[] = []
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? ''
    if (arg === '--') {
      operands.push(...args.slice(index + 1))
      break
    }
    const flag = options.find(({ long, short }) => long === arg || short === arg)
    const isOperand = SIGNED_AMOUNT.test(arg) || (operands.length > 0 && !arg.startsWith('-'))
    if (isOperand) operands.push(arg)
    else kept.push(arg)
    if (flag?.required && index + 1 < args.length) kept.push(args[++index] ?? '')
  }
  return operands.length === 0 ? args : [...kept, '--', ...operands]
}
