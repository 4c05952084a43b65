/** Decides which requests go to the images API instead of chat. */
import type { ProviderType } from '#domain/provider.ts'
import type { UpstreamCall } from '#domain/upstream.ts'

/** Providers with OpenAI's images API. OpenRouter, for one, generates images only in chat. */
const TYPES: ReadonlySet<ProviderType> = new Set([
  'openai',
  'azure',
  'openai-compatible',
  'xai',
  'together',
])

const OPENAI_IMAGE_MODELS = /(?:^|\/)(?:chat)?gpt-image|(?:^|\/)dall-e/i

/**
 * Whether an image is requested of a model that only generates images: its card has no text output, or its name is that of an
 * OpenAI image model. The name is checked because public catalogues list text as an output of some of them, and the id besides
 * the upstream name because an Azure deployment can have any name.
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
