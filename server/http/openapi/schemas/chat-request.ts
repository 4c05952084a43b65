/** Notes on the fields of a chat request: those that the gateway reads, and those that it passes through (contract §7). */
import type { z } from 'zod'
import type { chatForm } from '../../surfaces/chat/read-request.ts'
import type { JsonSchema, Notes } from '../notes.ts'

/** Without `messages`, which is validated by hand and has its own schema. */
type ChatForm = Omit<z.input<typeof chatForm>, 'messages'>

const PROVIDERS = 'Names of providers'

export const CHAT_NOTES: Notes<ChatForm> = {
  model: { description: '`<provider>/<model>`', examples: ['openai/gpt-4o-mini'] },
  modalities: {
    description:
      'With `image`, the answer contains images. Without it, a model that supports both answers with text. The order is irrelevant.',
    items: { type: 'string', enum: ['text', 'image'] },
  },
  stream: { description: 'Whether to answer in chunks; not with image output', default: false },
  stream_options: {
    description: 'Options of a stream',
    fields: {
      include_usage: { description: 'Whether the stream ends with a usage chunk', default: true },
    },
  },
  user: 'The id of your end user. Spend is reported by it, and a key may have limits per end user. One that contains an API key is refused',
  safety_identifier: 'The same as `user`, which takes precedence',
  n: { description: 'The number of answers', default: 1 },
  max_tokens:
    'The maximum number of tokens of the answer. It also bounds the amount that is reserved while the request runs',
  max_completion_tokens: 'The same as `max_tokens`, over which it takes precedence',
  temperature: 'Sampling temperature',
  top_p: 'Nucleus sampling: the probability mass to sample from',
  presence_penalty: 'Penalty for tokens that occurred at all',
  frequency_penalty: 'Penalty for tokens by how often they occurred',
  image_config: {
    description: 'The image to generate. Other fields are passed on to the provider',
    fields: {
      size: { description: 'In pixels, or `1K`, `2K`, `4K`', examples: ['1024x1024'] },
      image_size: "The same, by OpenRouter's name. Two names with different sizes are refused",
      resolution: "The same, by xAI's name",
      quality: { description: 'A quality that the model supports', examples: ['medium'] },
      aspect_ratio: { description: 'Aspect ratio', examples: ['16:9'] },
    },
  },
  allow_fallbacks: {
    description:
      'Whether another provider, or a model of `models`, is tried if one fails before its first content. ' +
      'False allows exactly one attempt, which is recommended for images',
    default: true,
  },
  models: 'Fallback models, in order, that are tried if the first fails before its first content',
  provider: {
    description: 'Which providers may serve the request',
    fields: {
      allow_fallbacks: 'The same as the top-level `allow_fallbacks`, which takes precedence',
      order: `${PROVIDERS} to try first, in order`,
      only: `${PROVIDERS} to use; no others are tried`,
      ignore: `${PROVIDERS} not to use`,
    },
  },
}

type Plain = 'boolean' | 'integer' | 'number' | 'object' | 'string'

const orNull = (type: Plain, description: string): JsonSchema => ({
  type: [type, 'null'],
  description,
})

/** Passed through unchanged, or read only by a provider's adapter; null means absent. */
export const PASSED_ON: Readonly<Record<string, JsonSchema>> = {
  tools: {
    type: ['array', 'null'],
    items: { type: 'object' },
    description:
      'The tools that the model may call, of type `function` or `custom`. Tools that the vendor runs are refused',
  },
  tool_choice: { description: '`none`, `auto`, `required`, or the tool to call' },
  parallel_tool_calls: orNull('boolean', 'Whether the model may call several tools at once'),
  response_format: orNull('object', '`text`, `json_object`, or `json_schema` with a schema'),
  reasoning_effort: orNull('string', '`none`, `minimal`, `low`, `medium`, `high`, `xhigh`'),
  reasoning: orNull('object', "OpenRouter's `effort` and `max_tokens`"),
  thinking: orNull('object', "Anthropic's `budget_tokens`"),
  stop: {
    type: ['string', 'array', 'null'],
    items: { type: 'string' },
    description: 'Sequences at which the model stops',
  },
  seed: orNull('integer', 'Seed for sampling; makes answers mostly reproducible'),
  top_k: orNull('number', 'The number of candidates to sample from'),
  logprobs: orNull('boolean', 'Whether to return log probabilities'),
  top_logprobs: orNull('integer', 'The number of candidates to return log probabilities for'),
  logit_bias: orNull('object', 'Bias for single tokens'),
  verbosity: orNull('string', '`low`, `medium`, `high`'),
  prompt_cache_key: orNull(
    'string',
    "Groups requests with a common prefix for the provider's prompt cache",
  ),
  safety_settings: { description: "Google's safety settings, passed on unchanged" },
  service_tier: {
    enum: ['auto', 'default', 'standard_only', null],
    description: 'A class of service of the provider; others cost extra and are refused',
  },
  metadata: orNull('object', 'Stored by the provider'),
  store: orNull('boolean', 'Whether the provider stores the answer'),
}
