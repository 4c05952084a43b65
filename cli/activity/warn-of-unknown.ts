/** Warnings for a search without results: a filter may be misspelt. No error, as removed models and providers stay in the log. */
import { nearest } from '#forms/nearest.ts'
import type { Context } from '../context.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { printNote } from '../terminal/output.ts'
import type { FilterFlags } from './filter-flags.ts'

/** Warns of filters that match no model or provider, with a suggestion. */
export async function warnOfUnknown(
  context: Context,
  { model, provider }: FilterFlags,
): Promise<void> {
  if (context.quiet || context.json) return
  if (model !== undefined) {
    const models = await call(context, 'models.list', {})
    warnOfOne(
      context,
      'model',
      model,
      models.map(({ id }) => id),
    )
  }
  if (provider !== undefined) {
    const providers = await call(context, 'providers.list', {})
    warnOfOne(
      context,
      'provider',
      provider,
      providers.map(({ name }) => name),
    )
  }
}

function warnOfOne(context: Context, noun: string, asked: string, known: readonly string[]): void {
  if (known.includes(asked)) return
  const meant = nearest(asked, known)
  printNote(
    context,
    `! there is currently no ${noun} "${clean(asked)}"${meant ? `; did you mean ${clean(meant)}?` : ''}`,
  )
}
