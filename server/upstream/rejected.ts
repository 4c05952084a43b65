/** The failure for a request that a provider's API cannot express: refused before it is sent, with the path of the field. */
import type { Part } from '#domain/conversation.ts'
import type { Thought } from '#domain/thought.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import type { Generate, Work } from '#domain/work.ts'

/** The route may still fall back to another provider. */
export const rejected = (param: string, problem: string): UpstreamFailure =>
  new UpstreamFailure('rejected', `${param}: ${problem}`, { param })

/** For a part of a conversation that a wire has no word for; named as the client names it, where that is known. */
export const rejectPart = (part: Exclude<Part, Thought>): UpstreamFailure =>
  rejected(part.path, `a ${sayPart(part)} cannot be sent`)

/** "part of type …", as the client names it. */
export function sayPart(part: Part): string {
  const word = wordOf(part)
  return typeof word === 'string' && word !== ''
    ? `part of type ${JSON.stringify(word)}`
    : 'part without a type'
}

function wordOf(part: Part): unknown {
  switch (part.type) {
    case 'unknown':
      return part.word
    case 'server-call':
    case 'server-result':
      return part.data['type']
    default:
      return part.type
  }
}

/** For a tool that only the client's own vendor has. */
export const rejectTool = ({ path, word }: { readonly path: string; readonly word: string }) =>
  rejected(path, `this model has no tool of type ${JSON.stringify(word)}`)

/** @throws UpstreamFailure `rejected` for work of another kind, which a family that only generates has no words for */
export function requireGenerate(request: Work): Generate {
  if (request.kind === 'generate') return request
  throw rejected('model', 'this provider only generates answers')
}
