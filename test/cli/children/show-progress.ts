// Shows progress while so many milliseconds pass at once as are asked for, and then that of work which blocks its process.
import { openContext } from '#cli/context.ts'
import { awaitProgress, showProgress } from '#cli/terminal/progress.ts'

/** Each with the milliseconds after which it comes again. */
const ticks = new Map<() => void, number>()
globalThis.setInterval = ((tick: () => void, everyMs: number) => {
  ticks.set(tick, everyMs)
  return tick
}) as never
globalThis.clearInterval = ((tick: () => void) => ticks.delete(tick)) as never

const [flags = '{}', lastsMs = '0'] = process.argv.slice(2)
const context = openContext(JSON.parse(flags), {})
const progress = awaitProgress(context, 'audit')
for (let passedMs = 1; passedMs <= Number(lastsMs); passedMs++) {
  for (const [tick, everyMs] of ticks) if (passedMs % everyMs === 0) tick()
}
progress.done()
if (ticks.size > 0) throw new Error('it goes on after its end')
showProgress(context, 'copying').done()
