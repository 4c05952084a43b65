/** The failure for a request that a provider's API cannot express: refused before it is sent, with the path of the field. */
import { UpstreamFailure } from '#domain/upstream.ts'
import type { Generate, Work } from '#domain/work.ts'

/** The route may still fall back to another provider. */
export const rejected = (param: string, problem: string): UpstreamFailure =>
  new UpstreamFailure('rejected', `${param}: ${problem}`, { param })

/** For a tool that only the client's own vendor has. */
export const rejectTool = ({ path, word }: { readonly path: string; readonly word: string }) =>
  rejected(path, `this model has no tool of type ${JSON.stringify(word)}`)

/** @throws UpstreamFailure `rejected` for work of another kind, which a family that only generates has no words for */
export function requireGenerate(request: Work): Generate {
  if (request.kind === 'generate') return request
  throw rejected('model', 'this provider only generates answers')
}
