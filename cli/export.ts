/** `gatewayctl export`: the current state as the file that `apply` reads, without secrets. */
import { writeFileSync } from 'node:fs'
import { action, type Mount } from './action.ts'
import { CommandError, EXIT } from './exit.ts'
import { findObstacles } from './export/obstacles.ts'
import { fileFault } from './file-fault.ts'
import { call } from './gateway/operator.ts'
import { print, printJson, printNote } from './terminal/output.ts'

interface Flags {
  readonly out?: string
}

/** `reasons` say why no other gateway can apply it. */
const headOf = (reasons: readonly string[]): string =>
  [
    reasons.length === 0
      ? '# Written by gatewayctl export. gatewayctl apply -f FILE applies it, here or to another gateway.'
      : '# Written by gatewayctl export. gatewayctl apply -f FILE applies it here, but not to another gateway, because',
    ...reasons.map((reason) => `#   ${reason}`),
    '# Balances, secrets, revoked keys and future prices are not included. apply reads the credential of a',
    '# provider from the environment variable that from_env names.',
    '\n',
  ].join('\n')

export const mount: Mount = (root) =>
  root
    .command('export')
    .description('write keys, limits, accounts, providers, models … as a file for apply')
    .option('--out <file>', 'write to a new file (0600) instead of standard output (-)')
    .action(
      action(async (context, { out }: Flags) => {
        const document = await call(context, 'export', {})
        const isPrinted = out === undefined || out === '-'
        if (context.json && isPrinted) return printJson(document)
        const obstacles = findObstacles(document, context.clock.now())
        const text = headOf(obstacles.map(({ what }) => what)) + Bun.TOML.stringify(document)
        for (const { what, next } of obstacles) {
          printNote(context, `! only this gateway can apply the file: ${what}\n  next: ${next}`)
        }
        if (isPrinted) return print(text.trimEnd())
        try {
          writeFileSync(out, text, { flag: 'wx', mode: 0o600 })
        } catch (cause) {
          throw new CommandError(
            'unwritable',
            EXIT.failed,
            `cannot write ${out}: ${fileFault(cause)}`,
          )
        }
        printNote(context, `✓ wrote ${out}`)
      }),
    )
