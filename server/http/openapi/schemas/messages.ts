/** The messages of a chat request, as `read-messages.ts` validates them; a test compares the two. */
import { z } from 'zod'
import { MAX_INPUT_IMAGES } from '../../read/image-url.ts'
import { MAX_MESSAGES, MAX_PARTS, ROLES } from '../../surfaces/chat/read-request.ts'

const textPart = z.looseObject({ type: z.literal('text'), text: z.string() })

const imagePart = z
  .looseObject({
    type: z.literal('image_url'),
    image_url: z.looseObject({
      url: z
        .string()
        .describe(
          '`data:image/<type>;base64,<data>`, or an https address that the provider may fetch',
        ),
    }),
  })
  .describe(
    `An image to look at, or to edit. At most ${MAX_INPUT_IMAGES} in a request; images of earlier answers, in ` +
      '`images`, do not count.',
  )

const otherPart = z
  .looseObject({ type: z.string().meta({ not: { enum: ['text', 'image_url'] } }) })
  .describe('Any other part (`input_audio`, `file`) is passed on to a provider that knows it.')

export const contentPart = z.union([textPart, imagePart, otherPart])

const content = z.union([z.string(), z.array(contentPart).max(MAX_PARTS)])

const assistant = z
  .looseObject({
    role: z.literal('assistant'),
    content: content.nullish(),
    images: z.unknown().optional().describe('Images of an earlier answer, sent back unchanged'),
    tool_calls: z
      .unknown()
      .optional()
      .describe('Tool calls of an earlier answer, sent back unchanged'),
  })
  .describe('An earlier answer; send it back unchanged.')

const other = z
  .looseObject({ role: z.enum(ROLES).exclude(['assistant']), content })
  .describe('An instruction, a question, or (with `tool_call_id`) the result of a tool.')

export const message = z.union([other, assistant])

/** OpenAI's messages (contract §7). */
export const messages = z.array(message).min(1).max(MAX_MESSAGES)
