/** `gatewayctl doctor`: checks this installation; exit 6 when something is wrong. */
import { GatewayError, toldOf } from '#domain/errors.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from './action.ts'
import type { Context } from './context.ts'
import { CommandError, EXIT, endWith } from './exit.ts'
import { call } from './gateway/operator.ts'
import { clean } from './terminal/clean.ts'
import { count } from './terminal/count.ts'
import { paint, print, printJson } from './terminal/output.ts'
import { withTypedFlags } from './terminal/typed-flags.ts'

type Report = VerbRecord<'doctor'>
type Finding = Report['findings'][number]

export const mount: Mount = (root) =>
  root
    .command('doctor')
    .description('check this installation; exit 6 when something is wrong')
    .action(
      action(async (context) => {
        const report = placed(context, await call(context, 'doctor', {}).catch(toReport))
        if (report.problems > 0) endWith(EXIT.unhealthy)
        if (context.json) return printJson(report)
        if (context.quiet) return
        for (const finding of report.findings) print(describe(context, finding))
        const { findings, warnings, problems } = report
        print(
          `${count(findings.length, 'check')}, ${count(warnings, 'warning')}, ${count(problems, 'problem')}`,
        )
      }),
    )

/** Adds the global options of this command to suggested commands, also in JSON. */
const placed = (context: Context, { findings, ...counts }: Report): Report => ({
  findings: findings.map(({ next, ...finding }) => ({
    ...finding,
    next: next === null ? null : withTypedFlags(next, context.typed),
  })),
  ...counts,
})

/** Errors that keep the checks from running. */
const UNOPENED: ReadonlySet<string> = new Set([
  'store_unavailable',
  'permission_denied',
  'read_only',
  'not_reachable',
])

/** A store that cannot be opened is the only finding. */
function toReport(thrown: unknown): Report {
  const isExpected = thrown instanceof GatewayError || thrown instanceof CommandError
  if (!isExpected || !UNOPENED.has(thrown.code)) throw thrown
  const next = thrown instanceof GatewayError ? (thrown.details.hint ?? null) : thrown.hint
  const message = thrown instanceof GatewayError ? toldOf(thrown) : thrown.message
  return {
    findings: [{ check: 'store', level: 'problem', message, next: next === DOCTOR ? null : next }],
    warnings: 0,
    problems: 1,
  }
}

/** A hint that points back to this command. */
const DOCTOR = 'gatewayctl doctor'

const MARKS = { ok: ['✓', 'green'], warning: ['!', 'yellow'], problem: ['✖', 'red'] } as const

function describe(context: Context, { level, message, next }: Finding): string {
  const [mark, color] = MARKS[level]
  const line = `${paint(context, color, mark)} ${clean(message)}`
  return next === null ? line : `${line}\n    next: ${clean(next)}`
}
