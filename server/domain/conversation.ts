/**
 * A conversation in the gateway's own model: what a client asks, whichever its dialect. A surface builds it from the client's
 * body, and only if the provider of a hop speaks another wire; a family translates it.
 */
import type { JsonObject } from './chat.ts'
import type { LongInteger } from './json.ts'
import type { Origin, Thought } from './thought.ts'

export interface Conversation {
  /** In the client's order. */
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  /** Absent where the client leaves it to the model. */
  readonly toolChoice?: ToolChoice
  readonly parallelToolCalls: boolean
  /** Absent for plain text. */
  readonly format?: Format
  readonly sampling: Sampling
  /** Never an empty one. */
  readonly stop: readonly string[]
  /** Set where the log probabilities of tokens are asked for; `top`: of how many alternatives. */
  readonly logprobs?: { readonly top?: number }
  /** How an image is to be drawn. */
  readonly drawing: Drawing
  /** Names what the prompt shares with others, for the provider's prompt cache. */
  readonly cacheKey?: string
  /** The caller's end user. */
  readonly endUser?: string
  /** Marks the whole prompt. */
  readonly cacheMark?: CacheMark
  /** Gemini's, sent on as they are. */
  readonly safetySettings: readonly unknown[]
  /** Fields of OpenAI's chat that change an answer and that no other wire has a word for. */
  readonly chatOnly: readonly ChatOnly[]
}

export interface ChatOnly {
  readonly path: 'logit_bias' | 'functions' | 'function_call' | 'audio'
  /** An empty object or list asks for nothing. */
  readonly isEmpty: boolean
}

/** What one side says. Turns of one role may follow each other; results of tools are a user's. */
export interface Turn {
  readonly role: 'system' | 'user' | 'assistant'
  /** Of the client's field with its content, for errors, as is every other `path`. */
  readonly path: string
  readonly parts: readonly Part[]
}

export type Part = TextPart | MediaPart | Thought | CallPart | ResultPart | ServerPart | UnknownPart

/** What a part may carry beside itself. */
interface Carrier {
  readonly path: string
  readonly cacheMark?: CacheMark
  /** The signature with which the part came, which its model wants back. */
  readonly signature?: Signature
}

/** May be empty, or blank. */
export interface TextPart extends Carrier {
  readonly type: 'text'
  readonly text: string
}

export interface MediaPart extends Carrier {
  readonly type: 'image' | 'document' | 'audio'
  /** The client's name for such a part. */
  readonly word: string
  readonly source: Source
  /** The name of its file. */
  readonly title?: string
  /** How closely an image is to be looked at, in OpenAI's words. */
  readonly detail?: string
  /** Of an earlier answer, in which a model drew it. */
  readonly isDrawn?: true
}

/** `reference`: an id that means something in one vendor's store alone, or nothing at all. `mediaType` is in lower case. */
export type Source =
  | { readonly type: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly type: 'url'; readonly url: string }
  | { readonly type: 'reference' }

export interface CallPart extends Carrier {
  readonly type: 'call'
  /** Absent where the client names none, as may `name` be. */
  readonly id?: string
  readonly name?: string
  /** The group of tools in which the name is unique. */
  readonly namespace?: string
  readonly kind: 'function' | 'custom'
  /** The client's text: JSON, or the input of a custom tool. Empty for none. */
  readonly arguments: string
  readonly argumentsPath: string
}

export interface ResultPart extends Carrier {
  readonly type: 'result'
  /** Of the call; absent where the client names none. */
  readonly callId?: string
  /** Of the tool, where the client states it here too. */
  readonly name?: string
  readonly parts: readonly (TextPart | MediaPart | UnknownPart)[]
  readonly isError: boolean
  readonly callIdPath: string
}

/** A tool that a vendor ran, or what came of it. */
interface ServerPart {
  readonly type: 'server-call' | 'server-result'
  readonly path: string
  readonly data: JsonObject
}

/** A part of a kind that only the client's own wire knows. */
interface UnknownPart {
  readonly type: 'unknown'
  readonly path: string
  /** The client's name for it; empty where it gives none. */
  readonly word: string
}

interface Signature {
  readonly data: string
  readonly origin: Origin
}

/** What comes before it may be kept for so long, and be read again at a lower price. */
export interface CacheMark {
  readonly ttl: '5m' | '1h'
}

export type Tool = FunctionTool | CustomTool | UnknownTool

export interface FunctionTool {
  readonly type: 'function'
  readonly path: string
  readonly namePath: string
  /** Absent where the client states none. */
  readonly name?: string
  readonly namespace?: string
  readonly description?: string
  readonly schema?: JsonObject
  /** Whether the model is held to the schema. */
  readonly isStrict: boolean
  readonly cacheMark?: CacheMark
}

/** Takes a text; `format` may bind it to a grammar. */
interface CustomTool {
  readonly type: 'custom'
  readonly path: string
  readonly name?: string
  readonly description?: string
  readonly format?: JsonObject
}

interface UnknownTool {
  readonly type: 'unknown'
  readonly path: string
  /** The client's name for its kind. */
  readonly word: string
}

/** `allowed`: of these tools alone. */
export type ToolChoice =
  | { readonly mode: 'auto' | 'none' | 'required' | 'unknown' }
  | { readonly mode: 'tool'; readonly name: string }
  | { readonly mode: 'allowed'; readonly names: readonly string[]; readonly isRequired: boolean }

export type Format =
  | { readonly type: 'json' | 'unknown' }
  | {
      readonly type: 'schema'
      readonly name?: string
      readonly description?: string
      readonly schema?: JsonObject
      readonly isStrict?: boolean
    }

export interface Sampling {
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  readonly seed?: number | LongInteger
}

export interface Drawing {
  /** Whether text is asked for beside the image. */
  readonly withText: boolean
  readonly aspectRatio?: string
  /** As the client states it; vendors take different words. */
  readonly size?: string
}
