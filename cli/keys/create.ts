/** `gatewayctl keys create`: a new key; standard output is exactly its secret. */
import { KEY_KINDS } from '#domain/key.ts'
import { action, type Mount } from '../action.ts'
import { addLimitFlags, type LimitFlags, readLimitFlags } from '../flags/limit-flags.ts'
import { readChoice } from '../flags/read-choice.ts'
import { readUntil } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { reserveFile } from './secret-file.ts'
import { demandEnvFits, showIssued } from './show-issued.ts'

interface Flags extends LimitFlags {
  readonly kind?: string
  readonly note?: string
  readonly expires?: string
  readonly env?: boolean
  readonly out?: string
}

export const mount: Mount = (keys) =>
  addLimitFlags(keys.command('create').description('create a key and show its secret once'))
    .argument('<name>', 'name of the key')
    .option('--kind <kind>', 'ordinary calls models; provisioning manages keys over HTTP')
    .option('--note <text>', 'a note for yourself')
    .option('--expires <time>', 'expiry: 30d, 2026-12-01T00:00:00Z, never')
    .option('--env', 'print export lines for a shell')
    .option('--out <file>', 'write the secret to a new file (0600) and print the id')
    .action(
      action(async (context, name: string, flags: Flags) => {
        if (flags.env) demandEnvFits(flags.kind)
        const input = {
          ...context.accountInput,
          ...(await readLimitFlags(context, flags, null)),
          name,
          kind: flags.kind === undefined ? undefined : readChoice('--kind', flags.kind, KEY_KINDS),
          note: flags.note,
          expires_at: readUntil('--expires', flags.expires, context.clock.now()),
        }
        const file = flags.out === undefined ? null : reserveFile(flags.out)
        try {
          const issued = await call(context, 'keys.create', input)
          await showIssued(context, issued, file ?? (flags.env ? 'env' : 'secret'))
        } finally {
          file?.close()
        }
      }),
    )
