/** Vectors of 2,048 texts as OpenAI sends them where base64 is asked for: 1,536 dimensions, 17 MB. */
const TEXTS = 2_048
const DIMENSIONS = 1_536

const embedding = Buffer.from(
  Float32Array.from({ length: DIMENSIONS }, (_, n) => Math.sin(n)).buffer,
).toString('base64')

export const vectors = {
  object: 'list',
  data: Array.from({ length: TEXTS }, (_, index) => ({ object: 'embedding', index, embedding })),
  model: 'bench',
  usage: { prompt_tokens: 250, total_tokens: 250 },
}
