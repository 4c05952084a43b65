/** What models do; a model's card says which. */

/** What a model does: it makes answers (text, tool calls, images), vectors of texts, or an order of documents. */
export const MODEL_KINDS = ['generate', 'embed', 'rerank'] as const

export type ModelKind = (typeof MODEL_KINDS)[number]
