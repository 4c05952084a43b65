/** Google Vertex AI: Gemini in its own wire, Claude in Anthropic's. */

import type { Clock } from '#domain/clock.ts'
import { type GoogleCredential, readGoogleCredential } from '#domain/cloud-credential.ts'
import { familyOf, type Provider } from '#domain/provider.ts'
import { GLOBAL, regionOf } from '#domain/region.ts'
import { type Upstream, type UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { openMessages } from '../anthropic/index.ts'
import { openAuthorized } from '../authorize.ts'
import { readBaseAddress } from '../base-address.ts'
import { openGemini } from '../gemini/index.ts'
import type { Reach } from '../reach.ts'
import { createScrub } from '../scrub.ts'
import { claudeServer } from './claude.ts'
import { openTokens } from './token.ts'

/** @throws UpstreamFailure when the base URL is no http address, or no project is named; GatewayError for an unusable credential */
export function openVertex(provider: Provider, text: string | null, clock: Clock): Upstream {
  const reach = toReach(text, clock)
  const address = readBaseAddress(provider)
  const base = toBase(address, readGoogleCredential(text))
  const gemini = openGemini({ ...provider, baseUrl: base }, null, reach)
  const claude = openMessages(claudeServer(base, reach, createScrub(address.host, null)))
  const ofModel = ({ hop }: UpstreamCall): Upstream =>
    familyOf(provider.type, hop.card) === 'anthropic' ? claude : gemini
  return {
    ask: (call) => ofModel(call).ask(call),
    count: async (call) => (await ofModel(call).count?.(call)) ?? null,
  }
}

/** Every request has a token. The key itself is never sent anywhere. */
export function toReach(text: string | null, clock: Clock): Reach {
  const tokens = openTokens(readGoogleCredential(text), clock)
  const open: Reach['open'] = (address, method) => openAuthorized(address, tokens, method)
  return { open, auth: {}, secret: null }
}

/** With project and location, unless the operator's address has them: of the service account, and of the host. */
function toBase({ href, hostname }: URL, credential: GoogleCredential | null): string {
  const base = href.replace(/\/$/, '')
  if (base.includes('/projects/')) return base
  const project = credential?.projectId ?? null
  if (project === null) {
    throw new UpstreamFailure('failed', 'neither its address nor its credential names a project')
  }
  return `${base}/projects/${project}/locations/${regionOf('vertex', hostname) ?? GLOBAL}`
}
