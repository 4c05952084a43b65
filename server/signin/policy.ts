/** When a person must be asked, and what they are asked: to sign in, or for consent. */
import {
  base,
  Check,
  type InteractionPolicy,
} from 'oidc-provider/lib/helpers/interaction_policy/index.js'
import type { Context, Grant, Provider } from 'oidc-provider/lib/provider.js'

/** The library's own policy, and a session whose person is gone or disabled asks for a new sign-in. */
export function interactionPolicy(): InteractionPolicy {
  const policy = base()
  policy
    .get('login')
    ?.checks.add(
      new Check('account_gone', 'End-User authentication is required', ({ oidc }) =>
        oidc.session.accountId !== undefined && oidc.account === undefined
          ? Check.REQUEST_PROMPT
          : Check.NO_NEED_TO_PROMPT,
      ),
    )
  return policy
}

/** What outlives the session is never given unasked. */
const ASKED_FOR = 'offline_access'

/**
 * Clients are the operator's own, so what they ask for is granted without a question, unless they want one asked
 * (`prompt=consent`), as they must for `offline_access`.
 */
export const grantUnasked =
  (provider: () => Provider) =>
  async ({ oidc }: Context): Promise<Grant | undefined> => {
    const { client, account, session, result } = oidc
    if (client === undefined || account === undefined) return undefined
    const { Grant: Grants } = provider()
    const id = result?.consent?.grantId ?? session.grantIdFor(client.clientId)
    const known = id === undefined ? undefined : await Grants.find(id)
    if (result?.consent !== undefined || oidc.prompts.has('consent')) return known
    const { accountId } = account
    const grant = known ?? new Grants({ accountId, clientId: client.clientId })
    const scopes = [...oidc.requestParamOIDCScopes].filter((scope) => scope !== ASKED_FOR)
    grant.addOIDCScope(scopes.join(' '))
    await grant.save()
    return grant
  }
