/** An estimate of a prompt's tokens, for what no provider has counted. */

import { inputImageTokensOf } from './input-image-tokens.ts'
import type { ModelCard } from './model-card.ts'
import { tokensOf } from './text-size.ts'
import type { Work } from './work.ts'

/** Base64 of a file or audio: its tokens depend on pages or seconds, so far more bytes make one token. */
const BYTES_PER_FILE_TOKEN = 100

export interface PromptEstimate {
  readonly words: number
  readonly images: number
}

export function estimatePrompt(
  request: Work,
  card: Pick<ModelCard, 'id' | 'upstreamName'>,
): PromptEstimate {
  const { textBytes, textSize, inputImages } = request
  const fileBytes = request.kind === 'generate' ? (request.fileBytes ?? 0) : 0
  const words = tokensOf({
    bytes: (textSize?.bytes ?? textBytes) - fileBytes,
    dense: textSize?.dense ?? 0,
  })
  return {
    words:
      request.kind === 'embed'
        ? words + request.tokenIds
        : words + Math.ceil(fileBytes / BYTES_PER_FILE_TOKEN),
    images: inputImages === 0 ? 0 : inputImages * inputImageTokensOf(card).estimate,
  }
}

/** Those of the prompt that count against the context. */
export function estimatePromptTokens(
  request: Work,
  card: Pick<ModelCard, 'id' | 'upstreamName'>,
): number {
  const { words, images } = estimatePrompt(request, card)
  return images > 0 && inputImageTokensOf(card).countsAsContext ? words + images : words
}
