/** A thought: what a model wants back as it sent it, and only it understands. */
import type { Family } from './provider.ts'

export type Thought = ThinkingPart | RedactedPart | ReasoningPart

/** A model's signed thoughts. */
interface ThinkingPart {
  readonly type: 'thinking'
  readonly text: string
  /** Empty where the client has lost it. */
  readonly signature: string
  readonly origin: Origin
}

interface RedactedPart {
  readonly type: 'redacted'
  readonly data: string
  readonly origin: Origin
}

/** Reasoning of the Responses API. */
interface ReasoningPart {
  readonly type: 'reasoning'
  readonly id: string
  readonly summary: readonly string[]
  readonly encrypted: string
  readonly origin: Origin
}

/** A model's signature of a call, without which it may not take the call back. Gemini's. */
export interface CallSignature {
  readonly type: 'call-signature'
  readonly callId: string
  readonly data: string
  readonly origin: Origin
}

/** How the ids of reasoning begin that the gateway has sealed: no provider can read it. Those of providers go on in hexadecimal. */
export const SEALED_REASONING = 'rs_gw'

/** Who wrote what only its writer can read. */
export interface Origin {
  readonly family: Family
  /** Absent where the client's dialect does not say it. */
  readonly provider?: string
  readonly model?: string
}
