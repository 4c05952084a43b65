/** Reads what was sent against a schema; the first field that does not fit is told by its path and in words. */
import type * as z from 'zod/mini'

export type Reading<T> =
  | { readonly fits: true; readonly value: T }
  | { readonly fits: false; readonly path: readonly PropertyKey[]; readonly message: string }

/** Never throws: how a misfit is answered is the caller's decision. */
export async function readForm<Schema extends z.ZodMiniType>(
  schema: Schema,
  untrusted: unknown,
): Promise<Reading<z.output<Schema>>> {
  const parsed = schema.safeParse(untrusted)
  if (parsed.success) return { fits: true, value: parsed.data }
  // The words of the parser are loaded only when it has something to say.
  const { default: english } = await import('zod/v4/locales/en.js')
  const issue = schema.safeParse(untrusted, { error: english().localeError }).error?.issues[0]
  return { fits: false, path: issue?.path ?? [], message: issue?.message ?? 'invalid input' }
}
