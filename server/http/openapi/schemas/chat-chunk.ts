/** One chunk of a streamed chat answer, the content of a `data:` line (contract §7). */
import { z } from 'zod'
import { finishReason, head, image, logprobs, nativeFinishReason } from './chat-answer.ts'
import { errorInChunk } from './error.ts'
import { count } from './scalars.ts'
import { streamUsage } from './usage.ts'

const toolCallDelta = z
  .looseObject({
    index: count('The index of the call in this message'),
    id: z.string().exactOptional().describe('In the first delta of the call'),
    type: z.enum(['function', 'custom']).exactOptional().describe('In the first delta of the call'),
    function: z
      .object({
        name: z.string().exactOptional().describe('In the first delta of the call'),
        arguments: z.string().describe('The next piece of the JSON'),
      })
      .exactOptional(),
    custom: z
      .object({ name: z.string().exactOptional(), input: z.string().describe('The next piece') })
      .exactOptional(),
  })
  .describe('A piece of a tool call.')

const delta = z.looseObject({
  role: z.literal('assistant').exactOptional().describe('In the first chunk of a choice'),
  content: z.string().exactOptional(),
  refusal: z.string().exactOptional(),
  reasoning: z.string().exactOptional(),
  reasoning_content: z.string().exactOptional().describe('The same as `reasoning`'),
  tool_calls: z.array(toolCallDelta).exactOptional(),
  images: z.array(image).exactOptional(),
})

const choice = z.looseObject({
  index: count('0 unless `n` is above 1'),
  delta,
  logprobs: logprobs.exactOptional(),
  finish_reason: finishReason.nullable(),
  native_finish_reason: nativeFinishReason.exactOptional(),
})

export const chunk = z
  .looseObject({
    ...head,
    object: z.literal('chat.completion.chunk'),
    provider: z
      .string()
      .exactOptional()
      .describe('Absent if the stream failed before any provider answered'),
    choices: z.array(choice).describe('Empty in the usage chunk'),
    usage: streamUsage
      .exactOptional()
      .describe('In the last chunk, unless `stream_options.include_usage` is false'),
    ...errorInChunk,
  })
  .describe(
    'One `data:` line of a stream: a chunk with the role, deltas, a chunk with `finish_reason`, a chunk with `usage` and no ' +
      'choices, then `data: [DONE]`. All have the same `id` and `created`. While no data arrives, `: keep-alive` comments are ' +
      'sent. A stream that fails ends with a chunk with `error` and `finish_reason: "error"`, its usage, and `[DONE]`.',
  )
