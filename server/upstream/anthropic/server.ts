/** A server of the Messages API: Anthropic's own, or one that speaks as it does but wants parts of a request in other places. */
import type { JsonObject } from '#domain/chat.ts'
import type { UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import type { ProviderHeaders } from '../call.ts'
import type { Post } from '../reply.ts'
import type { Scrub } from '../scrub.ts'
import type { EventReader } from '../stream.ts'
import type { Answer } from '../watchdog.ts'

/** Headers by which a request asks for a version of the API, or for betas. */
export type AskedHeaders = Readonly<Record<string, string>>

export interface MessagesServer {
  readonly scrub: Scrub
  /** The client for the address of this request. */
  postFor(call: UpstreamCall): Post
  headersWith(asked: AskedHeaders | undefined): ProviderHeaders
  /** Members of the body that are set, whatever the request says. */
  membersOf(call: UpstreamCall, asked: AskedHeaders | undefined): JsonObject
  /** Members of the body that it does not take. */
  readonly cut: readonly string[]
  /** The failure for an error status; reads the body. */
  toFailure(answer: Answer): Promise<UpstreamFailure>
  /** What reads the events of an answer of this type; null where it has no events. Absent: server-sent events. */
  openReader?(contentType: string): EventReader | null
  /** The one that counts the tokens of a prompt, if there is one. */
  readonly counting?: MessagesServer
}
