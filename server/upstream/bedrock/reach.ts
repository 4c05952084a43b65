/** How Amazon Bedrock is reached: its address and region, and what authorizes a request. */

import type { Clock } from '#domain/clock.ts'
import { readAwsCredential } from '#domain/cloud-credential.ts'
import type { Provider } from '#domain/provider.ts'
import { regionOf } from '#domain/region.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { openAuthorized } from '../authorize.ts'
import { readBaseAddress } from '../base-address.ts'
import { openPost } from '../http1/post.ts'
import type { Reach } from '../reach.ts'
import { keepKey } from './credentials.ts'
import { openSigner } from './sign.ts'

export interface BedrockReach extends Reach {
  /** Without a path, unless the operator has one. */
  readonly base: string
  readonly host: string
}

/**
 * The address of models that speak as Anthropic's and OpenAI's own do (`bedrock-mantle`), or that of Bedrock's own operations.
 */
export const isMantle = ({ host }: Pick<BedrockReach, 'host'>): boolean =>
  /\bbedrock-mantle\b/.test(host)

/** @throws UpstreamFailure when the base URL is no http address, or signatures need a region that nothing names */
export function toReach(provider: Provider, text: string | null, clock: Clock): BedrockReach {
  const url = readBaseAddress(provider)
  const { host } = url
  const base = url.href.replace(/\/$/, '')
  const credential = readAwsCredential(text)
  if (credential.kind === 'api-key') {
    const { key } = credential
    return { base, host, auth: { authorization: `Bearer ${key}` }, open: openPost, secret: key }
  }
  const region = credential.region ?? regionOf(provider.type, url.hostname)
  if (region === null) {
    throw new UpstreamFailure('failed', 'its address names no region: the credential must (Region)')
  }
  const service = isMantle({ host }) ? 'bedrock-mantle' : 'bedrock'
  const signer = openSigner(keepKey(credential, region, clock), { region, service }, clock)
  return {
    base,
    host,
    auth: {},
    open: (address, method) => openAuthorized(address, signer, method),
    secret: credential.key?.secretAccessKey ?? null,
  }
}
