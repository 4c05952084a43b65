/** A plan for people: `+` is added, `~` is changed, `-` is removed. */
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { clean } from '../terminal/clean.ts'
import { paint } from '../terminal/output.ts'

type Step = VerbRecord<'plan'>['steps'][number]

const SIGNS = {
  add: ['+', 'green'],
  change: ['~', 'yellow'],
  remove: ['-', 'red'],
} as const

/** Fields that the first words of the line already show. */
const SAID_BY_TITLE = new Set(['account', 'name'])

/** A line for each step, and one below it for each field that changes. */
export const renderSteps = (context: Context, steps: readonly Step[]): readonly string[] =>
  steps.flatMap((step) => {
    const [sign, color] = SIGNS[step.op]
    const line = `${paint(context, color, sign)} ${step.kind} ${clean(step.name)}`
    if (step.op === 'remove') return [line]
    if (step.op === 'change') {
      return [
        line,
        ...Object.entries(step.changes).map(
          ([field, { from, to }]) => `    ${field} ${render(from)} → ${render(to)}`,
        ),
      ]
    }
    const fields = Object.entries(step.fields)
      .filter(([field, value]) => value !== false && value !== '' && !SAID_BY_TITLE.has(field))
      .map(([field, value]) => `${field} ${render(value)}`)
    return [fields.length === 0 ? line : `${line}  ${paint(context, 'dim', fields.join(', '))}`]
  })

const WORDS = {
  add: ['to add', 'added'],
  change: ['to change', 'changed'],
  remove: ['to remove', 'removed'],
} as const

/** "2 to add, 1 to change, 3 to remove"; and once that is done, "2 added, 1 changed, 3 removed" */
export function countSteps(steps: readonly Step[], isDone = false): string {
  const count = (op: Step['op']): number => steps.filter((step) => step.op === op).length
  const words = (['add', 'change', 'remove'] as const)
    .filter((op) => count(op) > 0)
    .map((op) => `${count(op)} ${WORDS[op][isDone ? 1 : 0]}`)
  return words.length === 0 ? 'nothing to change' : words.join(', ')
}

const render = (value: unknown): string =>
  value === null ? 'none' : clean(typeof value === 'string' ? value || '""' : JSON.stringify(value))
