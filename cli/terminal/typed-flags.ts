/** Suggested commands repeat the global options (location, account) of the command that was typed. */
import { shellWord } from '#forms/shell-word.ts'
import { OF_ACCOUNT } from '../of-account.ts'

/** The flags for the location of the gateway; every command takes them. */
const PLACE = ['--data-dir', '--config']
const ACCOUNT = '--account'

/**
 * The typed command with further flags; a flag given again replaces its old value. No flag takes a
 * secret, and a whole key among the arguments was refused before anything else.
 */
export function repeatCommand(typed: readonly string[], ...asked: readonly string[]): string {
  const [flag = ''] = asked
  const { own, operands } = split(typed)
  const kept = own.filter(
    (arg, index) => arg !== flag && own[index - 1] !== flag && !arg.startsWith(`${flag}=`),
  )
  return ['gatewayctl', ...[...kept, ...asked, ...operands].map(shellWord)].join(' ')
}

/** A gatewayctl command within a sentence, but not a path that ends in gatewayctl. */
const COMMAND = /(?<![\w/.-])gatewayctl (?:([a-z]+)\b)(?:(?!gatewayctl ).)*/g

/** Adds the typed location and account to each command in a hint, unless the command has its own. */
export const withTypedFlags = (text: string, typed: readonly string[]): string =>
  text.replace(COMMAND, (command, noun: string) => {
    if (noun === 'help') return command
    const names = OF_ACCOUNT.has(noun) ? [...PLACE, ACCOUNT] : PLACE
    const stated = names.flatMap((name) => {
      const value = command.includes(`${name} `) ? undefined : statedOf(typed, name)
      return value === undefined ? [] : [`${name} ${shellWord(value)}`]
    })
    return ['gatewayctl', ...stated, command.slice('gatewayctl '.length)].join(' ')
  })

/** As commander reads it: the last one counts. */
function statedOf(typed: readonly string[], name: string): string | undefined {
  const { own } = split(typed)
  const values = own.flatMap((arg, index) =>
    arg === name
      ? own.slice(index + 1, index + 2)
      : arg.startsWith(`${name}=`)
        ? [arg.slice(name.length + 1)]
        : [],
  )
  return values.at(-1)
}

/** After `--` there are no flags. */
function split(typed: readonly string[]) {
  const end = typed.includes('--') ? typed.indexOf('--') : typed.length
  return { own: typed.slice(0, end), operands: typed.slice(end) }
}
