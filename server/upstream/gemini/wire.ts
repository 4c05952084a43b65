/** Gemini's wire as its own SDK types it, with enumerations as the words that travel. Types only: no SDK in the binary. */
import type * as Sdk from '@google/genai'

/** A type of the SDK's as JSON: its enums are words, and nothing changes once it is made. */
type Wire<T> = T extends string
  ? `${T}`
  : T extends readonly (infer Item)[]
    ? readonly Wire<Item>[]
    : T extends object
      ? { readonly [Name in keyof T]: Wire<T[Name]> }
      : T

export type Content = Wire<Sdk.Content>
export type Part = Wire<Sdk.Part>
export type FunctionDeclaration = Wire<Sdk.FunctionDeclaration>
export type ToolConfig = Wire<Sdk.ToolConfig>
export type ThinkingConfig = Wire<Sdk.ThinkingConfig>
/** The SDK's own type lacks what only the Gemini API takes. */
export type GenerationConfig = Wire<Sdk.GenerationConfig> & {
  readonly imageConfig?: Wire<Sdk.ImageConfig>
}

/** The body of generateContent and streamGenerateContent; the model stands in the address. */
export interface GenerateContentRequest {
  readonly contents: readonly Content[]
  readonly systemInstruction?: Content
  readonly tools?: readonly { readonly functionDeclarations: readonly FunctionDeclaration[] }[]
  readonly toolConfig?: ToolConfig
  readonly safetySettings?: readonly unknown[]
  readonly generationConfig?: GenerationConfig
}
