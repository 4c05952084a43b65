/** The dashboard in Ink: draws the controller's lines and sends it the keys. */
import { Box, Text, useApp, useInput, usePaste, useWindowSize } from 'ink'
import { type ReactNode, useEffect, useLayoutEffect, useReducer } from 'react'
import type { Controller, Terminal } from './controller.ts'
import { readKeys } from './keyboard.ts'
import { type Painter, toText } from './line.ts'

interface Props {
  readonly controller: Controller
  readonly painter: Painter
  /** Writes directly to the terminal, for sequences that do not move the cursor. */
  write(text: string): void
  /** Clears the whole screen, including output that is not Ink's. */
  erase(): void
}

/** DECAWM: long lines are cut (off), or wrap (on, the terminal's default). */
const CUT = '\u001b[?7l'
export const WRAP = '\u001b[?7h'

export function Dashboard({ controller, painter, write, erase }: Props): ReactNode {
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const { exit, suspendTerminal } = useApp()
  const { columns, rows } = useWindowSize()
  useEffect(() => controller.subscribe(redraw), [controller])
  // After the terminal becomes narrower, Ink draws the old frame once more: wrapped lines would scroll the screen.
  useLayoutEffect(() => {
    write(CUT)
    return () => write(WRAP)
  }, [write])
  const terminal: Terminal = {
    quit: () => exit(),
    suspend: () => void suspendTerminal(() => stopUntilContinued(write)),
    redraw() {
      erase()
      redraw()
    },
    copy: (text) => write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`),
  }
  useInput((input, key) => {
    for (const one of readKeys(input, key)) controller.press(one, terminal)
  })
  usePaste((text) => controller.paste(text))
  const text = controller
    .lines({ columns, rows })
    .map((line) => toText(line, painter))
    .join('\n')
  return (
    <Box width={columns} height={rows}>
      <Text wrap='truncate'>{text}</Text>
    </Box>
  )
}

/** Clears input echoed before Ink took over the terminal, which would displace the first frame. */
export function beginLine(write: Props['write']): void {
  // Turns echo off. Ink still reads what was typed.
  if (process.stdin.isTTY) process.stdin.setRawMode(true)
  write('\r\u001b[K')
}

/** Ctrl-Z as in a shell: stops the process and gives the terminal back until `fg`. */
const stopUntilContinued = (write: Props['write']): Promise<void> =>
  new Promise((resolve) => {
    write(WRAP)
    process.once('SIGCONT', () => {
      beginLine(write)
      write(CUT)
      resolve()
    })
    process.kill(process.pid, 'SIGTSTP')
  })
