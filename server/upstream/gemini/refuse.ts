/** Refuses, before anything is sent, what Gemini's wire cannot say. */
import { UpstreamFailure } from '#domain/upstream.ts'

/** A request that this family cannot carry: the caller's to change, or another provider's to serve. */
export const refuse = (message: string): UpstreamFailure => new UpstreamFailure('rejected', message)
