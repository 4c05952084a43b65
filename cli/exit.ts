/** How a command ends: one table of exit codes, one shape of error, on standard error. */
import type { Clock } from '#domain/clock.ts'
import { GatewayError, toldOf } from '#domain/errors.ts'
import { clean, toJson } from './terminal/clean.ts'
import { logLine } from './terminal/log-line.ts'
import { UnwritableError, writeError } from './terminal/streams.ts'
import { withTypedFlags } from './terminal/typed-flags.ts'

/** Exit codes; `gatewayctl help exit-codes` explains them. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  notRunning: 4,
  unconfirmed: 5,
  unhealthy: 6,
  crash: 70,
  interrupted: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** An error of the command line itself; further lines of `message` are printed below the first. */
export class CommandError extends Error {
  readonly code: string
  readonly exitCode: ExitCode
  readonly hint: string | null

  /** `options.cause` is what `--debug` shows beside it. */
  constructor(
    code: string,
    exitCode: ExitCode,
    message: string,
    hint: string | null = null,
    options: ErrorOptions = {},
  ) {
    super(message, options)
    this.name = 'CommandError'
    this.code = code
    this.exitCode = exitCode
    this.hint = hint
  }
}

/** A flag, value or argument that cannot be understood. */
export const usageError = (message: string, hint: string | null = null): CommandError =>
  new CommandError('usage', EXIT.usage, message, hint)

/** Sets the exit code without an error message: the command has already printed its findings. */
export function endWith(exitCode: ExitCode): void {
  process.exitCode = exitCode
}

interface Ending {
  readonly code: string
  readonly exitCode: ExitCode
  readonly message: string
  readonly hint: string | null
}

function endingOf(thrown: unknown): Ending {
  if (thrown instanceof CommandError) return thrown
  if (thrown instanceof GatewayError) {
    const { code, details } = thrown
    return { code, exitCode: codeOf(thrown), message: toldOf(thrown), hint: details.hint ?? null }
  }
  if (thrown instanceof UnwritableError) {
    return { code: 'unwritable', exitCode: EXIT.failed, message: thrown.message, hint: null }
  }
  return {
    code: 'crash',
    exitCode: EXIT.crash,
    message: `gatewayctl crashed: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
    hint: 'run it again with --debug and report the output as a bug',
  }
}

/** The exit code for a thrown error. */
export const exitCodeOf = (thrown: unknown): ExitCode => endingOf(thrown).exitCode

/** The same error with another exit code; a crash stays one. */
export function withExitCode(thrown: unknown, exitCode: ExitCode): unknown {
  const isExpected = thrown instanceof CommandError || thrown instanceof GatewayError
  if (!isExpected) return thrown
  const { code, message, hint } = endingOf(thrown)
  return new CommandError(code, exitCode, message, hint)
}

function codeOf({ code, status, details }: GatewayError): ExitCode {
  if (code === 'store_unavailable') {
    // No server is missing where the disk is full, or where it refuses this one.
    const isRefused = isOfOtherSchema(details) || details.permanent === true
    return isRefused || details.trouble === 'full' ? EXIT.failed : EXIT.notRunning
  }
  if (code === 'route_not_found') return EXIT.failed
  if (status === 400) return EXIT.usage
  return status === 404 ? EXIT.notFound : EXIT.failed
}

/** The database needs another binary or an upgrade; no server is missing. */
export const isOfOtherSchema = ({ metadata }: GatewayError['details']): boolean =>
  metadata?.['schema_version'] !== undefined

/** Prints an error and sets the exit code; as one JSON object with `--json`, with the stack with `--debug`. */
export function endWithError(
  thrown: unknown,
  typed: readonly string[],
  style: { json: boolean; debug: boolean },
): void {
  const { code, exitCode, message, hint: plain } = endingOf(thrown)
  const hint = plain === null ? null : withTypedFlags(plain, typed)
  process.exitCode = exitCode
  if (style.json) {
    const error = { code, message: message.replaceAll('\n', '; '), hint, exit_code: exitCode }
    writeError(`${toJson({ error }, 0)}\n`)
  } else {
    const [first, ...rest] = message.split('\n').map(clean)
    const lines = [`error: ${first}`, ...rest.map((line) => `  ${line}`)]
    if (hint !== null) lines.push(`hint: ${clean(hint)}`)
    writeError(`${lines.join('\n')}\n`)
  }
  if (style.debug) writeError(`${Bun.inspect(thrown)}\n`)
}

/** The same as one line of a JSON log, with the stack as a field. */
export function endWithLogLine(
  thrown: unknown,
  {
    clock,
    typed,
    debug,
  }: { readonly clock: Clock; readonly typed: readonly string[]; readonly debug: boolean },
): void {
  const { code, exitCode, message, hint } = endingOf(thrown)
  process.exitCode = exitCode
  writeError(
    logLine(clock, 'error', message.replaceAll('\n', '; '), {
      code,
      hint: hint === null ? null : withTypedFlags(hint, typed),
      exit_code: exitCode,
      ...(debug && { stack: Bun.inspect(thrown) }),
    }),
  )
}
