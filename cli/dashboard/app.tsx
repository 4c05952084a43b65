/** The dashboard in Ink: lines in, keys out; everything else is the controller's. */
import { Box, Text, useApp, useInput, usePaste, useWindowSize } from 'ink'
import { type ReactNode, useEffect, useLayoutEffect, useReducer } from 'react'
import type { Controller, Terminal } from './controller.ts'
import { readKeys } from './keyboard.ts'
import { type Painter, toText } from './line.ts'

interface Props {
  readonly controller: Controller
  readonly painter: Painter
  /** Writes past Ink, what moves nothing on the screen. */
  write(text: string): void
  /** Takes everything from the screen, what Ink knows nothing of too. */
  erase(): void
}

/** A line that is longer than the terminal is cut, or goes on in the next one, as terminals usually want it. */
const CUT = '\u001b[?7l'
export const WRAP = '\u001b[?7h'

export function Dashboard({ controller, painter, write, erase }: Props): ReactNode {
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const { exit, suspendTerminal } = useApp()
  const { columns, rows } = useWindowSize()
  useEffect(() => controller.subscribe(redraw), [controller])
  // Of a terminal that has just become narrower Ink draws the old frame first: wrapped, its lines would push others away.
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

/** What was typed before the terminal is Ink's stands on the line, and the first frame would begin behind it. */
export function beginLine(write: Props['write']): void {
  // Nothing more is echoed; what was typed is read by Ink.
  if (process.stdin.isTTY) process.stdin.setRawMode(true)
  write('\r\u001b[K')
}

/** Ctrl-Z as the shell knows it; the terminal is its own again until `fg`. */
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
