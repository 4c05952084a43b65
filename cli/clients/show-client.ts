/** One client, as several commands print it. */
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { clean } from '../terminal/clean.ts'
import { printNote, printRecord } from '../terminal/output.ts'

export function showClient(context: Context, client: VerbRecord<'clients.show'>): void {
  printRecord(context, client, client.client_id, [
    ['name', client.name],
    ['client_id', client.client_id],
    ...client.redirect_uris.map((uri) => ['redirect', uri] as const),
    ...client.logout_uris.map((uri) => ['logout', uri] as const),
    ...(client.public ? [['public', 'has no secret'] as const] : []),
    ...(client.device ? [['device', 'signs in on another screen'] as const] : []),
    ...(client.backchannel_logout_uri === null
      ? []
      : [['told of sign-outs', client.backchannel_logout_uri] as const]),
    ['pkce', client.require_pkce ? 'required' : 'optional'],
    ...(client.id_token_claims ? [] : [['id token', 'no e-mail, name or groups'] as const]),
    ['may enter', client.allowed?.join(' ') ?? 'everybody'],
    ['created', client.created_at],
    ['updated', client.updated_at],
  ])
  for (const warning of client.warnings) printNote(context, `! ${clean(warning)}`)
}
