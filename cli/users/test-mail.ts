/** `gatewayctl users test-mail`: sends one mail through the mail server; exit 6 when it is not accepted. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import { EXIT, endWith } from '../exit.ts'
import { call } from '../gateway/operator.ts'
import { printRecord } from '../terminal/output.ts'

export const mount: Mount = (users) =>
  users
    .command('test-mail')
    .description('send one mail as sign-in codes are sent, and print what the mail server says')
    .argument('<email>')
    .action(
      action(async (context, email: string) => {
        const trial = await call(context, 'users.test-mail', { ...context.accountInput, email })
        if (!trial.accepted) endWith(EXIT.unhealthy)
        printRecord(context, trial, trial.accepted ? 'accepted' : (trial.failure ?? 'failed'), [
          ['email', trial.email],
          ['mail server', sentenceFor(trial)],
          ['next', trial.accepted ? 'look into the mailbox, and its spam' : NEXT],
        ])
      }),
    )

const NEXT = 'check GATEWAY_SMTP_URL and GATEWAY_SMTP_FROM: gatewayctl help environment'

const REASONS: Readonly<Record<string, string>> = {
  no_smtp: 'there is none (GATEWAY_SMTP_URL)',
  refused: 'refused the connection',
  dns: 'its name was not found',
  unreachable: 'cannot be reached',
  reset: 'closed the connection',
  timeout: 'did not answer within 15 s',
  tls: 'no valid certificate, or no TLS',
  auth: 'did not accept user and password',
}

function sentenceFor({ accepted, status, failure }: VerbRecord<'users.test-mail'>): string {
  const code = status === null ? '' : ` (${status})`
  if (accepted) return `accepted the mail${code}`
  return (REASONS[failure ?? ''] ?? 'did not accept the mail') + code
}
