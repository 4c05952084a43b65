/** Theirs → ours: an answer of the images API as the events of a message with images. */
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject, readText } from '#domain/json.ts'
import type { ImageChoice } from '#domain/model-card.ts'
import type { Usage } from '#domain/usage.ts'
import { toImageUrl } from '../../base64-image.ts'
import type { Scrub } from '../../scrub.ts'
import type { Translated } from '../../whole-answer.ts'
import { isRemote } from '../from-image.ts'
import { broken, findError, noteAnswerFields } from '../from-response.ts'
import { fromUsage, toUsageEvent } from '../from-usage.ts'

/**
 * Translates the body of a 200. Each of `n` images is a choice of its own, as `n` means in chat; surplus images join the last
 * choice. An image may still be a remote URL; bytes that are not an image are dropped.
 */
export function fromImages(body: unknown, choices: number, scrub: Scrub): Translated {
  if (!isObject(body)) return broken('its answer is not a JSON object')
  const failure = findError(body, scrub)
  const events: ChatEvent[] = []
  if (!failure) {
    const drawn = { resolution: readText(body['size']), quality: readText(body['quality']) }
    for (const [index, entry] of readList(body['data']).entries()) {
      fromEntry(readObject(entry), Math.min(index, choices - 1), drawn, events)
    }
    for (let choice = 0; choice < choices; choice++) {
      events.push({ type: 'finish', choice, reason: 'stop', native: 'stop' })
    }
    noteAnswerFields(body, events)
  }
  const usage = toUsageEvent(body['usage'], fromImageUsage(body['usage']))
  if (usage) events.push(usage)
  return { events, failure }
}

function fromEntry(entry: JsonObject, choice: number, drawn: ImageChoice, into: ChatEvent[]): void {
  const address = readText(entry['url'])
  const bytes = readText(entry['b64_json'])
  const url = bytes === undefined ? remote(address) : toImageUrl(bytes.trimEnd())
  if (url !== undefined) into.push({ type: 'image', choice, url, drawn })
  const revised = readText(entry['revised_prompt'])
  if (revised === undefined) return
  into.push({ type: 'message-fields', choice, fields: { revised_prompt: revised } })
}

const remote = (address: string | undefined): string | undefined =>
  address !== undefined && isRemote(address) ? address : undefined

/** Without `output_tokens_details` all output is image tokens: the first models of this API wrote no text. */
function fromImageUsage(stated: unknown): Usage | undefined {
  const usage = fromUsage(stated)
  if (usage === undefined || isObject(readObject(stated)['output_tokens_details'])) return usage
  return { ...usage, imageOutputTokens: usage.outputTokens, outputTokens: 0, reasoningTokens: 0 }
}
