/** Checks that people can sign in with the configured identity providers. */

import type { OperatorDeps } from '../deps.ts'
import { type Finding, ok, warning } from './finding.ts'
import { unreadable } from './unreadable.ts'

export async function checkIdentities(deps: OperatorDeps): Promise<readonly Finding[]> {
  const { identityProviders } = deps.store.signin
  const providers = await identityProviders.list()
  if (providers.length === 0) return [ok('identities', 'people sign in by e-mail only')]
  const findings: Finding[] = []
  for (const { name } of providers) {
    const isReadable = await identityProviders.secret(name).then(
      () => true,
      () => false,
    )
    if (isReadable) continue
    findings.push(
      await unreadable(
        deps,
        'identities',
        `the secret of ${name}`,
        `gatewayctl identities edit ${name} --new-secret`,
      ),
    )
  }
  if (!deps.delivery.smtp) {
    findings.push(
      warning(
        'identities',
        'without a mail server (GATEWAY_SMTP_URL) new people cannot sign in with an external provider: their first code cannot be sent',
        'gatewayctl help environment',
      ),
    )
  }
  if (findings.length > 0) return findings
  return [ok('identities', `people sign in by ${providers.map(({ label }) => label).join(', ')}`)]
}
