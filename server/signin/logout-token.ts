/** Logout tokens (OpenID Connect Back-Channel Logout 1.0 §2.4), signed anew for each attempt, as they are valid for two minutes. */
import type { Provider } from 'oidc-provider/lib/provider.js'
import { randomSecret } from './register/digest.ts'
import type { WaitingLogout } from './register/logout.ts'

export interface SignedLogout {
  readonly uri: string
  readonly token: string
}

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** Undefined if the application was removed, or has no address for it any more. */
export async function signLogout(
  { Client, IdToken }: Provider,
  { clientId, personId, sid }: WaitingLogout,
): Promise<SignedLogout | undefined> {
  const client = await Client.find(clientId)
  const uri = client?.backchannelLogoutUri
  if (client === undefined || uri === undefined) return undefined
  const token = new IdToken({ sub: personId }, { client })
  token.mask = { sub: null }
  token.set('events', { [EVENT]: {} })
  token.set('jti', randomSecret())
  token.set('sid', sid)
  return { uri, token: await token.issue({ use: 'logout' }) }
}
