/** A client and its secret, which is shown this once. */
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { configuredAuthUrl } from '../settings/configured-auth-url.ts'
import { clean } from '../terminal/clean.ts'
import { paint, print, printJson, printRecord, tell } from '../terminal/output.ts'

/** `-q` prints the secret: its only copy. */
export function showIssued(
  context: Context,
  issued: VerbRecord<'clients.create'>,
  done: string,
): void {
  if (context.json || context.quiet) {
    if (context.json) printJson(issued)
    else print(issued.client_secret)
    return
  }
  const { client_id: id, client_secret: secret, name, warnings } = issued
  const issuer = issued.issuer ?? configuredAuthUrl(context)
  tell(context, `${paint(context, 'green', '✓')} ${done} ${clean(name)}`)
  printRecord(context, issued, id, [
    ['client_id', id],
    ['client_secret', secret],
    ['issuer', issuer],
  ])
  tell(context, 'The secret is shown once; only its hash is kept.')
  for (const warning of warnings) tell(context, `! ${clean(warning)}`)
  if (issuer) tell(context, `metadata: ${issuer}/.well-known/openid-configuration`)
}
