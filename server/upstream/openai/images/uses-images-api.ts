/** Decides which requests go to the images API instead of chat. */
import type { ProviderType } from '#domain/provider.ts'
import type { UpstreamCall } from '#domain/upstream.ts'

/** Those with OpenAI's image operations. OpenRouter, for one, draws by chat alone, whatever the model. */
const TYPES: ReadonlySet<ProviderType> = new Set([
  'openai',
  'azure',
  'openai-compatible',
  'xai',
  'together',
])

const OPENAI_IMAGE_MODELS = /(?:^|\/)(?:chat)?gpt-image|(?:^|\/)dall-e/i

/**
 * A picture is asked for, and the card says that its model only draws: text is not among its outputs, or the model is one of
 * OpenAI's by its name. The name is asked too because public lists give text as an output of some of them, and the id beside
 * the upstream name because a deployment at Azure may be called anything.
 */
export function usesImagesApi({ request, hop }: UpstreamCall): boolean {
  const { card, provider } = hop
  return (
    request.wantsImages &&
    TYPES.has(provider.type) &&
    (!card.outputModalities.includes('text') ||
      OPENAI_IMAGE_MODELS.test(card.upstreamName) ||
      OPENAI_IMAGE_MODELS.test(card.id))
  )
}
