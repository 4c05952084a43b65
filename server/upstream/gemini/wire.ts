/** Types of Gemini's API from Google's SDK, as JSON: enums become strings. Types only: the SDK is not in the binary. */
import type * as Sdk from '@google/genai'

/** A type of the SDK as JSON: enums as strings, everything readonly. */
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
/** The SDK's type lacks `imageConfig`. */
export type GenerationConfig = Wire<Sdk.GenerationConfig> & {
  readonly imageConfig?: Wire<Sdk.ImageConfig>
}

/** The body of generateContent and streamGenerateContent; the model is in the URL. */
export interface GenerateContentRequest {
  readonly contents: readonly Content[]
  readonly systemInstruction?: Content
  readonly tools?: readonly { readonly functionDeclarations: readonly FunctionDeclaration[] }[]
  readonly toolConfig?: ToolConfig
  readonly safetySettings?: readonly unknown[]
  readonly generationConfig?: GenerationConfig
}
