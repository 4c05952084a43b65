/** What a request asks for and a wire cannot say is refused before it is sent, by the path of its field. */
import { UpstreamFailure } from '#domain/upstream.ts'

/** The caller's to change, or another provider's to serve. */
export const rejected = (param: string, problem: string): UpstreamFailure =>
  new UpstreamFailure('rejected', `${param}: ${problem}`, { param })
