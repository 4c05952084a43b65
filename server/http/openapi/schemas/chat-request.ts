/** Notes on a chat request's fields: those that the gateway reads, and those that it passes on (spec §4.2, contract §7). */
import type { z } from 'zod'
import type { chatForm } from '../../read-chat-request.ts'
import type { JsonSchema, Notes } from '../notes.ts'

/** `messages` is read by hand and has a schema of its own. */
type ChatForm = Omit<z.input<typeof chatForm>, 'messages'>

const PROVIDERS = 'Names of providers'

export const CHAT_NOTES: Notes<ChatForm> = {
  model: { description: '`<provider>/<model>`', examples: ['openai/gpt-4o-mini'] },
  modalities: {
    description:
      'With `image` in it the answer is pictures. Without it, a model that can do both answers with text. Order is irrelevant.',
    items: { type: 'string', enum: ['text', 'image'] },
  },
  stream: { description: 'Answer in chunks. Not with image output', default: false },
  stream_options: {
    description: 'Of a stream',
    fields: {
      include_usage: { description: 'False leaves out the usage chunk', default: true },
    },
  },
  user: 'Your end user. Spend is told by it, and a key may cap each. One that holds an API key is refused',
  n: { description: 'How many answers', default: 1 },
  max_tokens:
    'The most tokens of the answer. It bounds what the request holds of the balance while it runs',
  max_completion_tokens: 'The same, and wins over `max_tokens`',
  temperature: 'How freely it chooses',
  top_p: 'How many candidates it chooses among',
  presence_penalty: 'Against what was said at all',
  frequency_penalty: 'Against what was said often',
  image_config: {
    description: 'Which picture. What a provider knows beside these fields is passed on',
    fields: {
      size: { description: 'In pixels, or `1K`, `2K`, `4K`', examples: ['1024x1024'] },
      image_size: "OpenRouter's word for it",
      quality: { description: 'As the model knows it', examples: ['medium'] },
      aspect_ratio: { description: 'Proportions', examples: ['16:9'] },
    },
  },
  allow_fallbacks: {
    description:
      'Whether another provider, or a model that `models` names, may answer where one fails before its first word. ' +
      'False is exactly one attempt; recommended for images',
    default: true,
  },
  models: 'Further models to ask, in order, where the first fails before its first word',
  provider: {
    description: 'Which providers may serve it',
    fields: {
      allow_fallbacks: 'As `allow_fallbacks` beside it, which wins',
      order: `${PROVIDERS} to ask first`,
      only: `${PROVIDERS} to ask alone`,
      ignore: `${PROVIDERS} to leave out`,
    },
  },
}

type Plain = 'boolean' | 'integer' | 'number' | 'object' | 'string'

const orNull = (type: Plain, description: string): JsonSchema => ({
  type: [type, 'null'],
  description,
})

/** Passed on as they come, and read at most by the translator of a provider's wire; null is absence. */
export const PASSED_ON: Readonly<Record<string, JsonSchema>> = {
  tools: { type: ['array', 'null'], items: { type: 'object' }, description: 'Tools it may call' },
  tool_choice: { description: '`none`, `auto`, `required`, or the one to call' },
  parallel_tool_calls: orNull('boolean', 'Whether it may call several at once'),
  response_format: orNull('object', '`text`, `json_object`, or `json_schema` with a schema'),
  reasoning_effort: orNull('string', '`none`, `minimal`, `low`, `medium`, `high`, `xhigh`'),
  reasoning: orNull('object', "OpenRouter's `effort` and `max_tokens`"),
  thinking: orNull('object', "Anthropic's `budget_tokens`"),
  stop: {
    type: ['string', 'array', 'null'],
    items: { type: 'string' },
    description: 'Texts that end it',
  },
  seed: orNull('integer', 'The same seed, much the same answer'),
  top_k: orNull('number', 'How many candidates it chooses among'),
  logprobs: orNull('boolean', 'Tell log probabilities'),
  top_logprobs: orNull('integer', 'Of so many candidates'),
  logit_bias: orNull('object', 'Tokens to favour or to avoid'),
  verbosity: orNull('string', '`low`, `medium`, `high`'),
  prediction: orNull('object', 'What most of the answer will be'),
  prompt_cache_key: orNull('string', 'Tells the provider which prompts begin alike'),
  safety_identifier: orNull('string', 'Your end user, as the provider is told'),
  safety_settings: { description: "Google's, as they are" },
  service_tier: orNull('string', "The provider's own classes of service"),
  metadata: orNull('object', 'For the provider to keep'),
  store: orNull('boolean', 'Whether the provider keeps the answer'),
}
