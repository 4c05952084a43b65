/** Amazon Bedrock: Claude in Anthropic's wire, other models in OpenAI's. */
import type { Clock } from '#domain/clock.ts'
import { familyOf, type Provider } from '#domain/provider.ts'
import type { Upstream, UpstreamCall } from '#domain/upstream.ts'
import { openAnthropic, openMessages } from '../anthropic/index.ts'
import { type LearnBound, openOpenAi } from '../openai/index.ts'
import { createScrub } from '../scrub.ts'
import { claudeServer } from './claude.ts'
import { openCount } from './count.ts'
import { type BedrockReach, isMantle, toReach } from './reach.ts'

/** @throws UpstreamFailure when the base URL is no http address, or no region is named; GatewayError for an unusable credential */
export function openBedrock(
  provider: Provider,
  credential: string | null,
  clock: Clock,
  learn?: LearnBound,
): Upstream {
  const reach = toReach(provider, credential, clock)
  const claude = openClaude(provider, reach)
  const others = openOthers(provider, reach, learn)
  const ofModel = ({ hop }: UpstreamCall): Upstream =>
    familyOf(provider.type, hop.card) === 'anthropic' ? claude : others(hop.card.upstreamName)
  return {
    ask: (call) => ofModel(call).ask(call),
    count: async (call) => (await ofModel(call).count?.(call)) ?? null,
  }
}

function openClaude(provider: Provider, reach: BedrockReach): Upstream {
  if (isMantle(reach)) return openAnthropic(at(provider, reach, '/anthropic/v1'), null, reach)
  const server = claudeServer(reach, createScrub(reach.host, reach.secret))
  return { ...openMessages(server), count: openCount(reach, server) }
}

/** On `bedrock-mantle` OpenAI's own models, but the open ones, have another path than those of other vendors. */
const OPENAI_MODELS = /(?:^|\.)openai\.gpt-(?!oss)/

function openOthers(
  provider: Provider,
  reach: BedrockReach,
  learn: LearnBound | undefined,
): (model: string) => Upstream {
  const openAt = (path: string): Upstream =>
    openOpenAi(at(provider, reach, path), null, undefined, learn, reach)
  const usual = openAt('/openai/v1')
  if (!isMantle(reach)) return () => usual
  const ofVendors = openAt('/v1')
  return (model) => (OPENAI_MODELS.test(model) ? usual : ofVendors)
}

const at = (provider: Provider, { base }: BedrockReach, path: string): Provider => ({
  ...provider,
  baseUrl: base + path,
})
