/** What the protocol library tells of itself, as events of signing in. */
import type { OIDCProviderError } from 'oidc-provider/lib/helpers/errors.js'
import type { Context, Provider } from 'oidc-provider/lib/provider.js'
import type { Clock } from '#domain/clock.ts'
import { TooManyInteractions } from './interaction-limit.ts'
import { ACCESS, NOT_ALLOWED } from './policy.ts'
import type { PersonId } from './register/person.ts'
import { noteEvent } from './request-artifacts.ts'

/** Answers to `prompt=none`: the application asked whether somebody is signed in, and nobody was refused. */
const SILENT: readonly string[] = ['login_required', 'consent_required', 'interaction_required']

/** Answers to a device that asks every few seconds whether its person has come; what they did there is noted when they do it. */
const OF_WAITING: readonly string[] = ['authorization_pending', 'slow_down', 'access_denied']

export function noteProtocolEvents(provider: Provider, clock: Clock): void {
  const note = (ctx: Context, outcome: string, more: { method?: string; detail?: string } = {}) => {
    const { client, account, session, entities } = ctx.oidc
    // Of a code or token that is refused or revoked there is no account.
    const { AuthorizationCode, RefreshToken, DeviceCode, AccessToken } = entities
    const held = AuthorizationCode ?? RefreshToken ?? DeviceCode ?? AccessToken
    const id = account?.accountId ?? session?.accountId ?? held?.accountId
    noteEvent(clock, {
      outcome,
      address: ctx.ip,
      clientId: client?.clientId ?? null,
      personId: (id as PersonId | undefined) ?? null,
      ...more,
    })
  }
  provider.on('authorization.success', (ctx) => {
    const method = ctx.oidc.result?.login?.by ?? 'session'
    const isOnDevice = ctx.oidc.entities.DeviceCode !== undefined
    note(ctx, 'signed_in', { method, ...(isOnDevice && { detail: 'on a device' }) })
  })
  provider.on('device_authorization.success', (ctx) => note(ctx, 'device_started'))
  provider.on('end_session.success', (ctx) => {
    if (ctx.oidc.params?.['logout'] !== undefined) note(ctx, 'signed_out')
  })
  provider.on('interaction.started', (ctx, { name }) => {
    if (name === ACCESS) note(ctx, 'not_allowed')
  })
  provider.on('authorization.error', (ctx, cause) => {
    // They gave up at a page, which is noted.
    if (ctx.oidc.entities.Interaction?.prompt.name === ACCESS) return
    if (ctx.oidc.params?.['prompt'] === 'none' && SILENT.includes(cause.error)) return
    if (cause.error_description === NOT_ALLOWED) return note(ctx, 'not_allowed')
    const outcome = cause instanceof TooManyInteractions ? 'too_many_requests' : cause.error
    note(ctx, outcome, detailOf(cause))
  })
  provider.on('grant.error', (ctx, cause) => {
    if (!OF_WAITING.includes(cause.error)) note(ctx, cause.error, detailOf(cause))
  })
  // Of a revocation the library tells only where it fails.
  provider.use(async (ctx, next) => {
    await next()
    if (ctx.oidc?.route !== 'revocation' || ctx.status !== 200) return
    const { client, entities } = ctx.oidc
    const token = entities.RefreshToken ?? entities.AccessToken
    if (token !== undefined && token.clientId === client?.clientId) note(ctx, 'token_revoked')
  })
  for (const event of [
    'revocation.error',
    'end_session.error',
    'device_authorization.error',
    'code_verification.error',
    'device_resume.error',
  ] as const) {
    provider.on(event, (ctx, cause) => note(ctx, cause.error, detailOf(cause)))
  }
}

const MAX_DETAIL = 200

/** The library's own words; those for the client are often no more than a class. */
const detailOf = ({ error_detail, error_description }: OIDCProviderError): { detail?: string } => {
  const detail = error_detail ?? error_description
  return detail === undefined ? {} : { detail: detail.slice(0, MAX_DETAIL) }
}
