/** Prints a client and its secret, which is shown only once. */
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { configuredAuthUrl } from '../settings/configured-auth-url.ts'
import { clean } from '../terminal/clean.ts'
import { noteDone, print, printJson, printNote, printRecord } from '../terminal/output.ts'
import { showOnce } from '../terminal/show-once.ts'

/** `-q` prints the secret, not the id: it is the only copy. Of a public client, which has none, the id. @throws CommandError 1 where it cannot be written */
export function showIssued(
  context: Context,
  record: VerbRecord<'clients.create'>,
  done: string,
): void {
  const issued = { ...record, issuer: record.issuer ?? configuredAuthUrl(context) }
  const { client_id: id, client_secret: secret, name, warnings, issuer } = issued
  const copy = {
    done: `${done} ${clean(name)} (${id})`,
    help: `gatewayctl clients rotate-secret ${id}`,
  }
  if (context.json || context.quiet) {
    showOnce(() => (context.json ? printJson(issued) : print(secret ?? id)), copy)
    return
  }
  noteDone(context, `${done} ${clean(name)}`)
  const fields = [
    ['client_id', id],
    ...(secret === null ? [] : [['client_secret', secret] as const]),
    ['issuer', issuer],
  ] as const
  showOnce(() => printRecord(context, issued, id, fields), copy)
  if (secret !== null) printNote(context, 'The secret is shown once; only its hash is stored.')
  for (const warning of warnings) printNote(context, `! ${clean(warning)}`)
  if (issuer) printNote(context, `metadata: ${issuer}/.well-known/openid-configuration`)
}
