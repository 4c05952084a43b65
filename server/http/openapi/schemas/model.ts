/** A model's card: OpenAI's record with OpenRouter's fields (contract §6). */
import { z } from 'zod'
import type { Modality, Output, PricingModel } from '#domain/model-card.ts'
import type { renderCard } from '../../wire/render-card.ts'
import { count, oneOf, text, unixTime, usd } from './scalars.ts'

const MODALITIES: Readonly<Record<Modality, string>> = {
  text: 'text',
  image: 'images',
  audio: 'audio',
  video: 'video',
  file: 'documents',
}

const modality = oneOf<Modality>('', MODALITIES)
const output = oneOf<Output>('', {
  ...MODALITIES,
  embeddings: 'vectors (`POST /v1/embeddings`)',
  rerank: 'an order of documents (`POST /v1/rerank`)',
})

const pricing = z
  .object({
    prompt: usd('Per token of the prompt'),
    completion: usd('Per token of the answer'),
    request: usd('Per request'),
    search_unit: usd('Per search unit, of a model that ranks documents by them').exactOptional(),
    image: usd('Per image in the prompt'),
    image_output: usd('Per generated image; the highest where there are several prices'),
    image_input_token: usd('Per token of an image in the prompt').exactOptional(),
    image_output_token: usd('Per token of a generated image').exactOptional(),
    input_cache_read: usd('Per token read from a cache'),
    input_cache_write: usd('Per token written to a cache'),
    input_cache_write_1h: usd('Per token written to a cache for an hour').exactOptional(),
    server_tools: z
      .record(z.string(), z.string())
      .describe('Per call of a tool that the vendor runs, by its name; any other is refused')
      .exactOptional(),
    modifiers: z
      .record(z.string(), z.string())
      .describe(
        'Factors of the whole price, by field and value (`service_tier=priority`); any other that costs extra is refused',
      )
      .exactOptional(),
  })
  .describe('In dollars per token or per image.')

const imagePrice = z.object({
  resolution: text('`*` for any', '1024x1024'),
  quality: text('`*` for any', 'medium'),
  usd: usd('Per image'),
})

const contextLength = count('Tokens of prompt and answer together').nullable()

export const modelCard = z
  .object({
    id: text('`<provider>/<model>`', 'acme/pixel-1'),
    object: z.literal('model'),
    created: unixTime('When it was added'),
    owned_by: z.string(),
    name: z.string(),
    description: z.string(),
    context_length: contextLength,
    architecture: z.object({
      modality: text('What it takes and what it answers with', 'text+image->text'),
      input_modalities: z.array(modality),
      output_modalities: z.array(output),
    }),
    pricing: pricing.nullable().describe('Null: the model is refused until it has a price'),
    pricing_model: oneOf<PricingModel>('How images are priced', {
      per_token: 'by the token',
      per_image: 'by the image',
      mixed: 'text by the token, images by the image',
    }).nullable(),
    image_pricing: z.array(imagePrice).describe('Prices per image; empty without any'),
    top_provider: z.object({
      context_length: contextLength,
      max_completion_tokens: count('The most tokens of one answer').nullable(),
    }),
    supported_parameters: z.array(z.string()),
  })
  .describe('What a model is called, what it can do and what it costs.') satisfies z.ZodType<
  ReturnType<typeof renderCard>
>

export const modelList = z.object({
  object: z.literal('list'),
  data: z.array(modelCard).describe('By id; only what the key may call'),
})
