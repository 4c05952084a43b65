/** What a request asks for and this wire cannot say is refused before it is sent, in words that name the field. */
import { UpstreamFailure } from '#domain/upstream.ts'

export const rejected = (message: string): UpstreamFailure =>
  new UpstreamFailure('rejected', message)
