/** Results of work that generates nothing: vectors of texts, an order of documents. */

/** Numbers, or the base64 of them as little-endian floats of 32 bits. */
export type Vector = readonly number[] | string

/** A document by its place in the request, and how relevant it is. */
export interface Ranked {
  readonly index: number
  readonly score: number
}

export type ResultEvent =
  /** One for each entry of the input, in its order, in the format that the client asked for. */
  | { readonly type: 'vectors'; readonly vectors: readonly Vector[] }
  /** The same in the provider's own answer, in pieces, where it has the shape of OpenAI's. */
  | { readonly type: 'vectors'; readonly asTheyCame: readonly (string | Uint8Array)[] }
  /** The most relevant first. */
  | { readonly type: 'ranking'; readonly ranking: readonly Ranked[] }
