/** One image as three families send it: 1.5 MB of bytes, 2 MB of base64. */

const IMAGE_BYTES = 1_500_000
const PNG_START = Buffer.from('89504e470d0a1a0a', 'hex')

/** Compressed pixels look like chance; a fixed sequence makes every run the same. */
function draw(): string {
  const bytes = Buffer.alloc(IMAGE_BYTES)
  let state = 1
  for (let at = 0; at < bytes.length; at++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    bytes[at] = state >>> 16
  }
  PNG_START.copy(bytes)
  return bytes.toString('base64')
}

const base64 = draw()

export const inlineData = {
  candidates: [
    {
      content: { parts: [{ inlineData: { mimeType: 'image/png', data: base64 } }], role: 'model' },
      finishReason: 'STOP',
      index: 0,
    },
  ],
  usageMetadata: { promptTokenCount: 250, candidatesTokenCount: 1_290, totalTokenCount: 1_540 },
  modelVersion: 'bench',
  responseId: 'bench',
}

export const messageImages = {
  id: 'gen-bench',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'bench',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: '',
        images: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${base64}` } }],
      },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 250, completion_tokens: 1_290, total_tokens: 1_540 },
}

export const b64Json = {
  created: 1_700_000_000,
  data: [{ b64_json: base64 }],
  usage: { input_tokens: 250, output_tokens: 1_290, total_tokens: 1_540 },
}
