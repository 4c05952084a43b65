/** Reads secrets from standard input, a file or an environment variable, never from an argument. */
import { GatewayError } from '#domain/errors.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT, usageError } from '../exit.ts'
import { fileFault } from '../file-fault.ts'
import { interrupted, keepReading } from '../terminal/prompt.ts'
import { readInput } from './read-input.ts'

export interface SecretFlags {
  readonly keyFile?: string
  readonly fromEnv?: string
  /** False after `--no-key`; undefined where the command has no such flag. */
  readonly key?: boolean
}

const MAX_SECRET_CHARS = 8_192

/** The secret, or null after `--no-key`. @throws CommandError 2 without a source or with two; 5, 130 */
export async function readSecretInput(
  context: Context,
  flags: SecretFlags,
): Promise<string | null> {
  demandOneSource(flags)
  if (flags.key === false) return null
  const secret = (await readFrom(context, flags)).trim()
  if (secret.length > 0 && secret.length <= MAX_SECRET_CHARS) return secret
  throw usageError(
    secret === '' ? 'the credential is empty' : 'the credential is too long',
    `pipe it in, or give --key-file FILE${flags.key === undefined ? ' or --from-env NAME' : ', --from-env NAME or --no-key'}`,
  )
}

/**
 * Makes a call that needs a secret: first without it, so that everything else that is wrong is refused before anybody types
 * one. `field` is the secret's field of the verb. @throws what the verb throws, and what `readSecretInput` throws
 */
export async function withSecretLast<Answer>(
  context: Context,
  flags: SecretFlags,
  field: string,
  make: (secret?: string | null) => Promise<Answer>,
): Promise<Answer> {
  demandOneSource(flags)
  if (flags.key === false) return await make(null)
  try {
    return await make()
  } catch (thrown) {
    if (!isAbout(thrown, field)) throw thrown
    return await make(await readSecretInput(context, flags))
  }
}

/** Whether a verb refused its input for this field. */
export const isAbout = (thrown: unknown, field: string): thrown is GatewayError =>
  thrown instanceof GatewayError && thrown.details.param === field

/** With two sources, one would be silently ignored. */
function demandOneSource({ keyFile, fromEnv, key }: SecretFlags): void {
  const stated = [
    ...(keyFile === undefined ? [] : ['--key-file']),
    ...(fromEnv === undefined ? [] : ['--from-env']),
    ...(key === false ? ['--no-key'] : []),
  ]
  if (stated.length > 1) throw usageError(`${stated.join(' and ')} cannot be combined`)
}

/** Longer than any credential, service accounts included. */
const MAX_SECRET_BYTES = 64 * 1024

async function readFrom(context: Context, { keyFile, fromEnv }: SecretFlags): Promise<string> {
  if (fromEnv !== undefined) {
    const value = context.env[fromEnv]
    if (value) return value
    throw usageError(`${fromEnv} is not set in the environment`)
  }
  if (keyFile !== undefined && keyFile !== '-') {
    return await readInput(keyFile, MAX_SECRET_BYTES).catch((cause: unknown) => {
      if (cause instanceof CommandError) throw cause
      const why = fileFault(cause)
      throw new CommandError('unreadable', EXIT.failed, `cannot read ${keyFile}: ${why}`)
    })
  }
  return await readStdin(context, 'credential')
}

/** A key's secret from standard input, or from a hidden prompt at a terminal. @throws CommandError 2 when there is none */
export async function readSecretStdin(context: Context): Promise<string> {
  const secret = (await readStdin(context, 'secret of the key')).trim()
  if (secret !== '') return secret
  throw usageError('no secret on standard input', 'gatewayctl keys show --secret-stdin < file')
}

/** Standard input to its end, or a hidden prompt at a terminal; empty where prompts are off. */
async function readStdin(context: Context, message: string): Promise<string> {
  if (!process.stdin.isTTY) return await readInput('-', MAX_SECRET_BYTES)
  if (!context.canPrompt()) return ''
  return await promptHidden(message)
}

/** A prompt that hides its input. @throws CommandError 130 for Ctrl-C, 5 for Escape or end of input */
async function promptHidden(message: string): Promise<string> {
  const { password, isCancel } = await import('@clack/prompts')
  // The prompt does not distinguish Escape from Ctrl-C, and ignores end of input.
  const ended = new AbortController()
  let isInterrupted = false
  const onCharacter = (character: string | undefined): void => {
    isInterrupted ||= character === '\u0003'
    if (character === '\u0004') ended.abort()
  }
  process.stdin.on('keypress', onCharacter)
  const forget = keepReading()
  const { signal } = ended
  const typed = await password({ message, output: process.stderr, signal })
  forget()
  process.stdin.off('keypress', onCharacter)
  if (!isCancel(typed)) return typed
  const problem = 'nothing was entered'
  throw isInterrupted
    ? interrupted(problem)
    : new CommandError('declined', EXIT.unconfirmed, problem)
}

/** Refuses a whole secret as an argument: it is now in the shell's history. @throws CommandError 2 */
export function refuseSecrets(args: readonly string[]): void {
  // Most lines have nothing like it, and compile no expression.
  if (!args.some((arg) => arg.includes('if-') && /(^|=)if-[0-9A-Za-z]{40,}$/.test(arg))) return
  throw usageError(
    'that is a full key secret, and it is now in your shell history',
    'gatewayctl keys show --secret-stdin < file',
  )
}
