/** The cabinet as an application of the sign-in provider (contract §10): built in, so that nobody registers it. */
import type { Instant } from '#domain/clock.ts'
import { CABINET_ID, type Client } from '#signin/register/client.ts'

/** What the cabinet is called where its operator states no name. */
export const USUAL_NAME = 'gatewayctl'

export const callbackOf = (issuer: string): string => `${issuer}/cabinet/callback`

/** `secretDigest`: of the secret that only this process knows. */
export const cabinetClient = (
  issuer: string,
  name: string | null,
  secretDigest: string,
  at: Instant,
): Client => ({
  id: CABINET_ID,
  name: name ?? USUAL_NAME,
  redirectUris: [callbackOf(issuer)],
  logoutUris: [],
  requiresPkce: true,
  access: 'everybody',
  secretDigest,
  isForDevices: false,
  backchannelLogoutUri: null,
  hasIdTokenClaims: true,
  createdAt: at,
  updatedAt: at,
})
