/** Chooses the provider family that implements a provider's API. */
import { type Clock, systemClock } from '#domain/clock.ts'
import { PROVIDER_PRESETS, type Provider } from '#domain/provider.ts'
import type { Upstream } from '#domain/upstream.ts'
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
