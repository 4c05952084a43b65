/** Checks a provider that was just added: whether it accepts the key, and which of its models have a price here. */
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { paint, printNote } from '../terminal/output.ts'

export type Checked = VerbRecord<'providers.test'>[number]

/** Short, because the provider is added whatever the check finds. */
const CHECK_TIMEOUT_MS = 5_000

/** The result; null where the check itself failed, in which case the provider has still been added. */
export async function checkProvider(context: Context, name: string): Promise<Checked | null> {
  try {
    const tested = await call(context, 'providers.test', { name, within_ms: CHECK_TIMEOUT_MS })
    return tested[0] ?? null
  } catch {
    return null
  }
}

/** "✓ key valid · 87 models, 12 of them priced here", and a note about the others. */
export function printChecked(
  context: Context,
  { name, has_credential }: { readonly name: string; readonly has_credential: boolean },
  checked: Checked | null,
): void {
  for (const line of describe(
    context,
    name,
    has_credential ? 'key valid' : 'it answers',
    checked,
  )) {
    printNote(context, line)
  }
}

function describe(
  context: Context,
  name: string,
  good: string,
  checked: Checked | null,
): readonly string[] {
  if (checked === null || (!checked.ok && checked.status === null)) {
    const why = clean(checked?.message ?? 'the check failed')
    return [`! not checked: ${why}`, `  try again: gatewayctl providers test ${name}`]
  }
  const { ok, models, priced_models: priced, message } = checked
  if (!ok) {
    const what = `${paint(context, 'red', '✖')} ${clean(message ?? 'it refused')}`
    return [what, `next: gatewayctl providers edit ${name} --key-file -`]
  }
  const tick = paint(context, 'green', '✓')
  if (models === null || priced === null) return [`${tick} ${clean(message ?? 'it answers')}`]
  const found = `${tick} ${good} · ${models} models, ${priced} of them priced here`
  if (models === priced) return [found]
  return [
    found,
    `  ${models - priced} have no price here and are refused; to add one: gatewayctl models add ${name}/MODEL --in-usd X --out-usd Y`,
  ]
}
