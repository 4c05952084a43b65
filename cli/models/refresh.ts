/** `gatewayctl models refresh`: prices from a file, or from the catalog of this program, after showing what changes. */
import type { VerbInput, VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { readDocument } from '../flags/read-document.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { count } from '../terminal/count.ts'
import { noteDone, paint, print, printJson, printNote } from '../terminal/output.ts'

interface Flags {
  readonly from?: string
  readonly addNew?: boolean
  readonly dryRun?: boolean
}

type Input = VerbInput<'models.refresh.plan'>
type Plan = VerbRecord<'models.refresh.plan'>

export const mount: Mount = (models) =>
  models
    .command('refresh')
    .description('take over prices from a file, or from the catalog of this program')
    .argument('[mask...]', "only these: an id, 'provider/*'")
    .option(
      '--from <file>',
      "a list of entries as in docs/catalog.md, or models.dev's api.json; - is standard input",
    )
    .option('--add-new', 'also add the models that the gateway does not have')
    .option('--dry-run', 'show what would change and change nothing')
    .action(
      action(async (context, masks: readonly string[], flags: Flags) => {
        const input: Input = {
          entries: flags.from === undefined ? null : await readPrices(flags.from),
          masks: [...masks],
          add_new: flags.addNew === true,
        }
        const plan = await call(context, 'models.refresh.plan', input)
        showPlan(context, plan, flags.dryRun === true)
        if (!flags.dryRun) await carryOut(context, input, plan)
      }),
    )

/** The changes are the result of a dry run; otherwise all of it is a note. */
function showPlan(context: Context, plan: Plan, isDry: boolean): void {
  if (isDry && context.json) printJson(plan)
  for (const line of changeLines(context, plan)) {
    if (isDry && !context.json) print(line)
    else printNote(context, line)
  }
  for (const line of remarks(context, plan)) printNote(context, line)
}

async function carryOut(context: Context, input: Input, plan: Plan): Promise<void> {
  const todo = wordsOf(plan)
  if (todo !== null) {
    await confirm(context, { question: `${todo}: continue?`, act: `change ${todo}` })
  }
  const done = await call(context, 'models.refresh', { ...input, plan: plan.plan })
  if (context.json) return printJson(done)
  const confirmed = count(done.confirmed.length, 'price')
  noteDone(context, `changed ${todo ?? 'nothing'}; ${confirmed} confirmed`)
}

async function readPrices(path: string): Promise<Input['entries']> {
  const { readCatalog } = await import('#operator/catalog/read-catalog.ts')
  return await readDocument(path, async (document) => [...(await readCatalog(document))])
}

/** "3 prices, 2 new models"; null for nothing. */
function wordsOf({ changes, new_models, adds_new }: Plan): string | null {
  const words = [
    ...(changes.length > 0 ? [count(changes.length, 'price')] : []),
    ...(adds_new && new_models.length > 0 ? [count(new_models.length, 'new model')] : []),
  ]
  return words.length === 0 ? null : words.join(', ')
}

/** A line for each model, and one below it for each price that changes. */
function changeLines(context: Context, { changes, new_models, adds_new }: Plan): string[] {
  const priced = changes.flatMap(({ model, since, until, changes: fields, free }) => [
    `${paint(context, 'yellow', '~')} ${clean(model)}  ${since === null ? 'no price yet' : `price since ${since}`}${until === null ? '' : `; another was set for ${until}`}${free ? `  ${paint(context, 'red', 'FREE')}` : ''}`,
    ...Object.entries(fields).map(([field, change]) => `    ${field} ${moved(change)}`),
  ])
  const added = adds_new
    ? new_models.map(
        ({ model, in_usd, out_usd, tiers }) =>
          `${paint(context, 'green', '+')} ${clean(model)}  in_usd ${in_usd}, out_usd ${out_usd}${tiers.map((tier) => `; above ${tier.above_input_tokens} tokens in_usd ${tier.in_usd}, out_usd ${tier.out_usd}`).join('')}`,
      )
    : []
  return [...priced, ...added]
}

function moved(change: unknown): string {
  const { from, to } = change as { readonly from: unknown; readonly to: unknown }
  return `${shown(from)} → ${shown(to)}`
}

const shown = (value: unknown): string =>
  value === null ? 'none' : clean(typeof value === 'string' ? value : JSON.stringify(value))

/** What is named in full in a list; the rest is counted. */
const MOST_NAMED = 20

function remarks(context: Context, plan: Plan): readonly string[] {
  const { new_models, adds_new, missing, skipped, uncovered, other_vendors } = plan
  const where = plan.source === 'file' ? 'the file' : 'the catalog of this program'
  const bang = paint(context, 'yellow', '!')
  const named = (names: readonly string[]): string =>
    `${names.slice(0, MOST_NAMED).map(clean).join(', ')}${names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : ''}`
  return [
    ...skipped.map(({ model, why }) => `${bang} skipped ${clean(model)}: ${clean(why)}`),
    ...(missing.length > 0
      ? [`${bang} not in ${where}, and left as they are: ${named(missing)}`]
      : []),
    ...(uncovered.length > 0 ? [`${where} has nothing of provider ${named(uncovered)}`] : []),
    ...(other_vendors.length > 0
      ? [
          `skipped, for there is no such provider here: ${named(other_vendors.map(({ vendor, models }) => `${vendor} (${count(models, 'model')})`))}`,
        ]
      : []),
    ...(new_models.length > 0 && !adds_new
      ? [
          `${count(new_models.length, 'new model')}, which --add-new adds: ${named(new_models.map(({ model }) => model))}`,
        ]
      : []),
  ]
}
