/** `X-Gateway-Dry-Run: true` on chat: the verdict, the route and the highest possible cost, without a charge. */
import { renderRub, renderUsd } from '#domain/money.ts'
import { type Quote, quote } from '#domain/walk/quote.ts'
import type { Work } from '#domain/work.ts'
import type { ApiDeps } from '../deps.ts'
import { toErrorFields } from '../render-error.ts'
import { type CallerContext, renderJson } from '../request-context.ts'

/**
 * Status 200 whether or not the request would be admitted, and a provider of its route can be told it; `admitted` says which, and
 * `error` has the refusal with its `status`. Errors before admission (model, modality, price) are returned as without the header.
 */
export async function answerQuote(
  deps: ApiDeps,
  context: CallerContext,
  request: Work,
): Promise<Response> {
  const quoted = await quote(deps, context, request)
  context.quota = quoted.quota
  return renderJson(context, renderQuote(request, quoted))
}

export const renderQuote = (
  request: Work,
  { refusal, route, maxCost: most, maxCostRub: mostRub }: Quote,
) => ({
  object: 'quote',
  model: route[0]?.model ?? request.model,
  admitted: refusal === null,
  error: refusal && { ...toErrorFields(refusal), status: refusal.status },
  max_cost_usd: renderUsd(most),
  max_cost_rub: renderRub(mostRub),
  route: route.map((hop) => ({
    model: hop.model,
    provider: hop.provider,
    max_cost_usd: renderUsd(hop.maxCost),
    max_output_tokens: hop.maxOutputTokens,
    lowered: hop.loweredBound !== null,
  })),
})
