/** `gatewayctl keys rotate`: a new secret for the same key; standard output is exactly that secret. */
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { readDuration } from '../flags/read-value.ts'
import { inFlight, recentRequests } from '../gateway/impact.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { reserveFile } from './secret-file.ts'
import { demandEnvFits, showIssued } from './show-issued.ts'

interface Flags {
  readonly grace: string
  readonly env?: boolean
  readonly out?: string
}

export const mount: Mount = (keys) =>
  keys
    .command('rotate')
    .description('give a key a new secret; id, limits and counters stay')
    .argument('<key>', 'id, name or shown prefix')
    .option('--grace <time>', 'how long the old secret still works: 90s, 24h, 7d, or 0', '24h')
    .option('--env', 'print export lines for a shell')
    .option('--out <file>', 'write the secret to a new file (0600) and print the id')
    .action(
      action(async (context, text: string, flags: Flags) => {
        const graceMs = flags.grace === '0' ? 0 : readDuration('--grace', flags.grace)
        if (flags.env) demandEnvFits((await showKey(context, text)).kind)
        const key = graceMs === 0 ? await agree(context, text) : text
        const file = flags.out === undefined ? null : reserveFile(flags.out)
        try {
          const rotated = await call(context, 'keys.rotate', {
            ...context.accountInput,
            key,
            grace_seconds: graceMs / 1_000,
          })
          const until = rotated.earlier_secrets_until
          const shown = file ?? (flags.env ? 'env' : 'secret')
          await showIssued(context, rotated, shown, {
            act: 'rotated',
            note:
              until === null
                ? '  the old secret is refused from now on'
                : `  the old secret works until ${until}; deploy the new one before`,
          })
        } finally {
          file?.close()
        }
      }),
    )

const showKey = (context: Context, text: string) =>
  call(context, 'keys.show', { ...context.accountInput, key: text })

/** Confirms that the old secret stops working at once; returns the id of the key. @throws CommandError 5 */
async function agree(context: Context, text: string): Promise<string> {
  const { id, name, usage } = await showKey(context, text)
  const running = usage.requests_in_progress
  await confirm(context, {
    question: `rotate ${clean(name)} without grace? ${await recentRequests(context, { key: id })}, ${inFlight(running)}; the old secret is refused from the next request.`,
    act: `rotate ${clean(name)} without grace`,
  })
  return id
}
