/** The command line before it is parsed: the words that name a command, and the global flags. */
import { type Command, Option } from 'commander'
import { NOUNS } from './nouns.ts'

/** The flags of every command, and their descriptions. */
const GLOBAL_FLAGS = [
  ['--json', 'one JSON document on standard output'],
  ['-q, --quiet', 'ids only, one per line'],
  ['-y, --yes', 'answer yes to confirmations'],
  ['--no-input', 'never prompt (implied when standard input is not a terminal)'],
  ['--no-color', 'no colour (also NO_COLOR)'],
  ['--debug', 'print the stack trace of an error'],
  ['--data-dir <dir>', 'data directory of the gateway (GATEWAY_DATA_DIR)'],
  ['--config <file>', 'configuration file (GATEWAY_CONFIG)'],
  ['--account <name>', 'account to act on; without it, the account "default"'],
] as const

const EVERY_COMMAND = 'Global options:'

/** The flags of every command. */
export function globalFlags(command: Command): void {
  for (const [flags, description] of GLOBAL_FLAGS) {
    command.addOption(new Option(flags, description).helpGroup(EVERY_COMMAND))
  }
  command.addHelpOption(new Option('-h, --help', 'show this help').helpGroup(EVERY_COMMAND))
}

/** Global flags that take a value; they may come before the words that name the command. */
export const VALUED = new Set(['--data-dir', '--config', '--account'])

/**
 * The words that name a command, and all the rest in its order: `--data-dir /x keys --json list --all` is
 * `keys list` + `--data-dir /x --json --all`.
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
    const isKnown = GLOBAL_FLAGS.some(([flags]) => flags.split(/[ ,]+/).includes(arg))
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
