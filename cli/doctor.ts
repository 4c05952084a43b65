/** `gatewayctl doctor`: checks this installation; exit 6 when something is wrong. */
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from './action.ts'
import { clean } from './clean.ts'
import type { Context } from './context.ts'
import { EXIT, endWith } from './exit.ts'
import { call } from './operator.ts'
import { paint, print, printJson } from './output.ts'

type Finding = VerbRecord<'doctor'>['findings'][number]

export const mount: Mount = (root) =>
  root
    .command('doctor')
    .description('check this installation; exit 6 when something is wrong')
    .action(
      action(async (context) => {
        const report = await call(context, 'doctor', {})
        if (report.problems > 0) endWith(EXIT.unhealthy)
        if (context.json) return printJson(report)
        if (context.quiet) return
        for (const finding of report.findings) print(describe(context, finding))
        const { findings, warnings, problems } = report
        print(
          `${findings.length} checks, ${count(warnings, 'warning')}, ${count(problems, 'problem')}`,
        )
      }),
    )

const MARKS = { ok: ['✓', 'green'], warning: ['!', 'yellow'], problem: ['✖', 'red'] } as const

function describe(context: Context, { level, message, next }: Finding): string {
  const [mark, color] = MARKS[level]
  const line = `${paint(context, color, mark)} ${clean(message)}`
  return next === null ? line : `${line}\n    next: ${clean(next)}`
}

const count = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? '' : 's'}`
