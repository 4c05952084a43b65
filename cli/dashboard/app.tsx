/** The dashboard in Ink: lines in, keys out; everything else is the controller's. */
import { Box, Text, useApp, useInput, useWindowSize } from 'ink'
import { type ReactNode, useEffect, useReducer } from 'react'
import type { Controller, Terminal } from './controller.ts'
import { readKeys } from './keyboard.ts'
import { type Painter, toText } from './line.ts'

interface Props {
  readonly controller: Controller
  readonly painter: Painter
  /** Writes past Ink, what moves nothing on the screen. */
  write(text: string): void
}

export function Dashboard({ controller, painter, write }: Props): ReactNode {
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const { exit, suspendTerminal } = useApp()
  const { columns, rows } = useWindowSize()
  useEffect(() => controller.subscribe(redraw), [controller])
  const terminal: Terminal = {
    quit: () => exit(),
    suspend: () => void suspendTerminal(stopUntilContinued),
    copy: (text) => write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`),
  }
  useInput((input, key) => {
    for (const one of readKeys(input, key)) controller.press(one, terminal)
  })
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

/** Ctrl-Z as the shell knows it; the terminal is its own again until `fg`. */
const stopUntilContinued = (): Promise<void> =>
  new Promise((resolve) => {
    process.once('SIGCONT', () => resolve())
    process.kill(process.pid, 'SIGTSTP')
  })
