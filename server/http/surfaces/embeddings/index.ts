/** `POST /v1/embeddings`: OpenAI's embeddings, of whichever vendor's model. */
import { notStreamed, type Surface } from '../surface.ts'
import { readEmbeddingsRequest } from './read-request.ts'
import { VectorFold } from './render-whole.ts'

export const EMBEDDINGS: Surface = {
  readRequest: readEmbeddingsRequest,
  startWhole: () => new VectorFold(),
  startStream: notStreamed,
}
