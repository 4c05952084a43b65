/** Runs the dashboard on a terminal, and restores the terminal whatever happens. */
import { writeSync } from 'node:fs'
import { render } from 'ink'
import { EXIT } from '../exit.ts'
import { unreadableAnswer } from '../gateway/served-version.ts'
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
      // Where CI is set, Ink would draw only the last frame; here there is always a terminal.
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

/** Cursor home, erase to the end of the screen. */
const BLANK_SCREEN = '\u001b[H\u001b[J'
/** End of synchronized output, alternate screen off, cursor on, lines wrapped, colours off. */
const CLEAN = `\u001b[?2026l\u001b[?1049l\u001b[?25h${WRAP}\u001b[0m`

/** After a crash: restores the terminal, prints one line, and exits before anything can draw over it. */
function endCrashed(thrown: unknown, unmount: () => void): void {
  try {
    unmount()
  } catch {
    // The terminal is restored below.
  }
  if (process.stdin.isTTY) process.stdin.setRawMode(false)
  const lost = unreadableAnswer(thrown)
  const words = thrown instanceof Error ? thrown.message : String(thrown)
  const told = lost
    ? `error: ${lost.message}\nhint: ${lost.hint}\n`
    : `error: the dashboard crashed: ${words}\nhint: gatewayctl dashboard --once\n`
  try {
    writeSync(1, CLEAN)
    writeSync(2, told)
  } catch {
    // The terminal is gone.
  }
  // biome-ignore lint/nursery/noProcessExit: after a defect nothing is to be waited for
  process.exit(lost?.exitCode ?? EXIT.crash)
}
