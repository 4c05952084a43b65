/** The failure for a request that a provider's API cannot express: refused before it is sent, with the path of the field. */
import { UpstreamFailure } from '#domain/upstream.ts'

/** The route may still fall back to another provider. */
export const rejected = (param: string, problem: string): UpstreamFailure =>
  new UpstreamFailure('rejected', `${param}: ${problem}`, { param })
