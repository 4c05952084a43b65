/** Runs the dashboard on a terminal, and leaves that as it was, whatever happens. */
import { writeSync } from 'node:fs'
import { render } from 'ink'
import { EXIT } from '../exit.ts'
import { beginLine, Dashboard, WRAP } from './app.tsx'
import type { Controller } from './controller.ts'
import { inColor, plain } from './line.ts'

/** Resolves when the operator quits. */
export async function runDashboard(controller: Controller, color: boolean): Promise<void> {
  const write = (text: string): void => void process.stdout.write(text)
  beginLine(write)
  const instance = render(
    <Dashboard
      controller={controller}
      painter={color ? inColor : plain}
      write={write}
      erase={() => {
        instance.clear()
        write(BLANK_SCREEN)
      }}
    />,
    {
      alternateScreen: true,
      incrementalRendering: true,
      exitOnCtrlC: false,
      // Ink draws nothing in what it takes for a CI until it ends; this one is on a terminal, or was not started.
      interactive: true,
    },
  )
  const crash = (thrown: unknown): void => endCrashed(thrown, () => instance.unmount())
  process.on('uncaughtException', crash)
  process.on('unhandledRejection', crash)
  try {
    await instance.waitUntilExit()
  } catch (thrown) {
    crash(thrown)
  } finally {
    controller.stop()
    process.off('uncaughtException', crash)
    process.off('unhandledRejection', crash)
  }
}

/** From the first column of the first line on, nothing. */
const BLANK_SCREEN = '\u001b[H\u001b[J'
/** End of synchronized output, alternate screen off, cursor on, lines wrapped, colours off. */
const CLEAN = `\u001b[?2026l\u001b[?1049l\u001b[?25h${WRAP}\u001b[0m`

/** A defect: the terminal first, then one line about it; nothing that still runs may draw over either. */
function endCrashed(thrown: unknown, unmount: () => void): void {
  try {
    unmount()
  } catch {
    // What is left of it is undone by hand.
  }
  if (process.stdin.isTTY) process.stdin.setRawMode(false)
  const words = thrown instanceof Error ? thrown.message : String(thrown)
  try {
    writeSync(1, CLEAN)
    writeSync(2, `error: the dashboard crashed: ${words}\nhint: gatewayctl dashboard --once\n`)
  } catch {
    // Whoever read it has gone.
  }
  // biome-ignore lint/nursery/noProcessExit: after a defect nothing is to be waited for
  process.exit(EXIT.crash)
}
