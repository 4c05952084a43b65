/** Nothing was found: perhaps because what was asked for is called otherwise. What is gone may still be in the log, so it is no error. */
import { nearest } from '#forms/nearest.ts'
import type { Context } from '../context.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { tell } from '../terminal/output.ts'
import type { FilterFlags } from './filter-flags.ts'

/** Says which of the filters names nothing that there is, and what was probably meant. */
export async function tellUnknown(
  context: Context,
  { model, provider }: FilterFlags,
): Promise<void> {
  if (context.quiet || context.json) return
  if (model !== undefined) {
    const models = await call(context, 'models.list', {})
    tellOne(
      context,
      'model',
      model,
      models.map(({ id }) => id),
    )
  }
  if (provider !== undefined) {
    const providers = await call(context, 'providers.list', {})
    tellOne(
      context,
      'provider',
      provider,
      providers.map(({ name }) => name),
    )
  }
}

function tellOne(context: Context, noun: string, asked: string, known: readonly string[]): void {
  if (known.includes(asked)) return
  const meant = nearest(asked, known)
  tell(
    context,
    `! there is no ${noun} "${clean(asked)}" today${meant ? `; did you mean ${clean(meant)}?` : ''}`,
  )
}
