/** One identity provider, as several commands print it. */
import type { VerbRecord } from '#operator/verbs.ts'
import { callbackPath } from '#signin/register/identity-provider.ts'
import type { Context } from '../context.ts'
import { configuredAuthUrl } from '../settings/configured-auth-url.ts'
import { clean } from '../terminal/clean.ts'
import { printNote, printRecord } from '../terminal/output.ts'

export function showProvider(context: Context, record: VerbRecord<'identities.show'>): void {
  const provider = withRedirect(context, record)
  printRecord(context, provider, provider.name, [
    ['name', provider.name],
    ['label', provider.label],
    ['type', provider.type],
    ['issuer', provider.issuer],
    ['client_id', provider.client_id],
    ['redirect', provider.callback_url],
    ['authoritative for', provider.authoritative_for.join(' ') || null],
    ['people', provider.people],
    ['created', provider.created_at],
    ['updated', provider.updated_at],
  ])
  for (const warning of provider.warnings) printNote(context, `! ${clean(warning)}`)
}

/** With the redirect URI to register at the provider: by the address of the running gateway, else by the configuration. */
export function withRedirect<Provider extends VerbRecord<'identities.show'>>(
  context: Context,
  provider: Provider,
): Provider {
  const authUrl = provider.callback_url === null ? configuredAuthUrl(context) : null
  return authUrl === null
    ? provider
    : { ...provider, callback_url: authUrl + callbackPath(provider.name) }
}
