// Shows progress whose seconds pass at once, as many as asked for, and then that of work which blocks its process.
import { openContext } from '#cli/context.ts'
import { awaitProgress, showProgress } from '#cli/terminal/progress.ts'

const ticks = new Set<() => void>()
globalThis.setInterval = ((tick: () => void) => {
  ticks.add(tick)
  return tick
}) as never
globalThis.clearInterval = ((tick: () => void) => ticks.delete(tick)) as never

const [flags = '{}', seconds = '0'] = process.argv.slice(2)
const context = openContext(JSON.parse(flags), {})
const progress = awaitProgress(context, 'audit')
for (let second = 0; second < Number(seconds); second++) for (const tick of ticks) tick()
progress.done()
if (ticks.size > 0) throw new Error('it goes on after its end')
showProgress(context, 'copying').done()
