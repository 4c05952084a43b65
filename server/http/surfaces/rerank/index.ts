/** `POST /v1/rerank`: Cohere's rerank, or Voyage's, of whichever vendor's model. */
import { notStreamed, type Surface } from '../surface.ts'
import { readRerankRequest } from './read-request.ts'
import { RankingFold } from './render-whole.ts'

export const RERANK: Surface = {
  readRequest: readRerankRequest,
  startWhole: (work) => new RankingFold(work),
  startStream: notStreamed,
}
