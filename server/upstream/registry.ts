/** Opens a provider's upstream by the family that implements its API, and keeps one open for each of its credentials. */

import type { Providers } from '#domain/catalogue.ts'
import { type Clock, systemClock } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { PROVIDER_PRESETS, type Provider } from '#domain/provider.ts'
import { type Upstream, UpstreamFailure } from '#domain/upstream.ts'
import { openAnthropic } from './anthropic/index.ts'
import { openBedrock } from './bedrock/index.ts'
import { openCohere } from './cohere/index.ts'
import { openDemo } from './demo/index.ts'
import { openGemini } from './gemini/index.ts'
import { type LearnBound, openOpenAi } from './openai/index.ts'
import { openVertex } from './vertex/index.ts'
import { openVoyage } from './voyage/index.ts'

/** `credential` is null for a provider that needs none. Opens no connection. */
export function openUpstream(
  provider: Provider,
  credential: string | null,
  clock: Clock = systemClock,
  learn?: LearnBound,
): Upstream {
  const { family, cloud } = PROVIDER_PRESETS[provider.type]
  if (cloud === 'aws') return openBedrock(provider, credential, clock, learn)
  if (cloud === 'google') return openVertex(provider, credential, clock)
  switch (family) {
    case 'openai':
      return openOpenAi(provider, credential, undefined, learn)
    case 'gemini':
      return openGemini(provider, credential)
    case 'anthropic':
      return openAnthropic(provider, credential)
    case 'cohere':
      return openCohere(provider, credential)
    case 'voyage':
      return openVoyage(provider, credential)
    case 'demo':
      return openDemo()
  }
}

/** Credentials are decrypted once per revision of a provider, not once per request. */
export function createUpstreamCache(
  providers: Providers,
  clock: Clock,
): (provider: Provider, credential: string | null) => Upstream {
  const opened = new Map<string, { revision: number; upstream: Upstream }>()

  return (provider, credentialName) => {
    const { revision } = provider
    // No provider's name has a space.
    const name = credentialName === null ? provider.name : `${provider.name} ${credentialName}`
    const known = opened.get(name)
    if (known?.revision === revision) return known.upstream
    const opening = providers.credential(provider.name, credentialName).then((credential) =>
      openUpstream(provider, credential, clock, (word) => {
        // Where it cannot be stored now, it is learnt again after a restart.
        providers.learnBound(provider, word).catch(() => undefined)
      }),
    )
    const record = { revision, upstream: startUpstream(opening) }
    opened.set(name, record)
    opening.then(
      (upstream) => {
        record.upstream = upstream
      },
      // A failure is not cached: the operator may fix an unreadable credential.
      () => {
        if (opened.get(name) === record) opened.delete(name)
      },
    )
    return record.upstream
  }
}

/** One that is being opened: who asks it meanwhile waits, and fails if its credential cannot be read. */
export function startUpstream(opening: Promise<Upstream>): Upstream {
  const open = (): Promise<Upstream> => opening.catch(toCredentialFailure)
  return {
    ask: (call) => open().then((upstream) => upstream.ask(call)),
    count: (call) => open().then((upstream) => upstream.count?.(call) ?? null),
  }
}

/** An unreadable credential fails only this provider; another may still answer. A store that cannot be read fails the request. */
function toCredentialFailure(cause: unknown): never {
  if (!(cause instanceof GatewayError) || cause.code === 'store_unavailable') throw cause
  throw new UpstreamFailure('unauthorized', 'its credential cannot be read', { cause })
}
