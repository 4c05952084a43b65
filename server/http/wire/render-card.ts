/** A model's card: OpenAI's record with OpenRouter's fields (contract §6). */
import { type Instant, unixSeconds } from '#domain/clock.ts'
import {
  type ModelCard,
  outputsOf,
  type Prices,
  priceAt,
  pricingModel,
} from '#domain/model-card.ts'
import { FREE, renderFactor, renderPrice } from '#domain/money.ts'

/** `id`: the alias that it is shown by, else its own. */
export function renderCard(card: ModelCard, at: Instant, id = card.id) {
  const prices = priceAt(card, at)?.prices
  const outputs = outputsOf(card)
  return {
    id,
    object: 'model',
    created: unixSeconds(card.createdAt),
    owned_by: card.id.slice(0, card.id.indexOf('/')),
    name: card.name,
    description: card.description,
    context_length: card.contextLength,
    architecture: {
      modality: `${card.inputModalities.join('+')}->${outputs.join('+')}`,
      input_modalities: card.inputModalities,
      output_modalities: outputs,
    },
    pricing: prices ? renderPricing(prices) : null,
    pricing_model: prices ? pricingModel(prices) : null,
    image_pricing: (prices?.imagePrices ?? []).map(({ resolution, quality, usd }) => ({
      resolution,
      quality,
      usd: renderPrice(usd),
    })),
    top_provider: {
      context_length: card.contextLength,
      max_completion_tokens: card.maxCompletionTokens,
    },
    supported_parameters: card.supportedParameters,
  }
}

/** `image` is per input image; `image_output` per generated image, the highest if there are several prices. */
function renderPricing(prices: Prices) {
  const highest = prices.imagePrices.reduce((most, { usd }) => (usd > most ? usd : most), FREE)
  return {
    prompt: renderPrice(prices.prompt),
    completion: renderPrice(prices.completion),
    request: renderPrice(prices.request),
    ...(prices.searchUnit !== FREE && { search_unit: renderPrice(prices.searchUnit) }),
    image: renderPrice(prices.inputImage),
    image_output: renderPrice(highest),
    ...(prices.imageInputToken !== null && {
      image_input_token: renderPrice(prices.imageInputToken),
    }),
    ...(prices.imageOutputToken !== null && {
      image_output_token: renderPrice(prices.imageOutputToken),
    }),
    input_cache_read: renderPrice(prices.cacheRead ?? prices.prompt),
    input_cache_write: renderPrice(prices.cacheWrite ?? prices.prompt),
    ...(prices.cacheWrite1h !== null && {
      input_cache_write_1h: renderPrice(prices.cacheWrite1h),
    }),
    ...(prices.serverTools.length > 0 && {
      server_tools: Object.fromEntries(
        prices.serverTools.map(({ tool, usd }) => [tool, renderPrice(usd)]),
      ),
    }),
    ...(prices.modifiers.length > 0 && {
      modifiers: Object.fromEntries(
        prices.modifiers.map(({ name, factor }) => [name, renderFactor(factor)]),
      ),
    }),
  }
}
