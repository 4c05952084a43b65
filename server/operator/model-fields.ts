/** Input fields of models: what one does, in which wires it answers, and which prices such a model has. */
import * as z from 'zod/mini'
import { MODEL_KINDS, type ModelKind } from '#domain/model-kind.ts'
import { FREE, type UsdAttos } from '#domain/money.ts'
import { OPENAI_WIRES } from '#domain/provider.ts'

export const kindField = z.enum(MODEL_KINDS)

export const embeddingSpaceField = z
  .string()
  .check(z.regex(/^[\w.:/-]{1,64}$/, 'must be 1 to 64 letters, digits or . : / _ -'))

/** Of OpenAI's API. In one order whatever was typed, so that two files which say the same are the same. */
export const wiresField = z.pipe(
  z.array(z.enum(OPENAI_WIRES)).check(z.minLength(1), z.maxLength(OPENAI_WIRES.length)),
  z.transform((stated) => OPENAI_WIRES.filter((wire) => stated.includes(wire))),
)

interface StatedPrices {
  readonly prompt: UsdAttos | undefined
  readonly completion: UsdAttos | undefined
  readonly searchUnit: UsdAttos
  readonly isPerImage: boolean
}

/**
 * What is wrong with the prices of a model of this kind; null where nothing is. With only one of two prices the other side would
 * be free.
 */
export function priceProblem(kind: ModelKind, stated: StatedPrices): string | null {
  const { prompt, completion, searchUnit, isPerImage } = stated
  if (kind === 'generate') {
    if (searchUnit !== FREE) return 'only a model of kind rerank is billed by search units'
    const isByToken = prompt !== undefined && completion !== undefined
    return isByToken || (isPerImage && prompt === completion)
      ? null
      : 'a price needs both sides: --in-usd and --out-usd (per million tokens; 0 is free)'
  }
  if ((completion ?? FREE) !== FREE || isPerImage) {
    return `a model of kind ${kind} answers with no tokens and no images, so there is no price of its output: leave out --out-usd`
  }
  if (kind === 'embed' && searchUnit !== FREE) {
    return 'only a model of kind rerank is billed by search units'
  }
  if (prompt !== undefined || searchUnit !== FREE) return null
  return kind === 'embed'
    ? 'a price of its input is needed: --in-usd (per million tokens; 0 is free)'
    : 'a price is needed: --per-search-unit-usd, or --in-usd (per million tokens; 0 is free)'
}
