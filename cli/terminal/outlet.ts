/** Output of a server: it never waits for its reader, never fails, and what it keeps for a slow one is bounded. */

export interface Outlet {
  /** Whole lines. */
  write(lines: string): void
  /** Resolves once everything was written, or refused. */
  drained(): Promise<void>
}

/** What waits for a slow reader; lines beyond it are dropped, and counted. */
const MAX_WAITING_CHARS = 2 ** 20

/** `renderLoss` is the line that says, in the place of lost lines, how many they were. */
export function openOutlet(
  stream: NodeJS.WritableStream,
  renderLoss: (lines: number) => string,
): Outlet {
  // Each write is told of its own failure.
  stream.on('error', () => {})
  let waiting = ''
  /** Lines that did not fit behind those that wait. */
  let dropped = 0
  /** Lines of the writes that failed last. */
  let refused = 0
  let writing: ReturnType<typeof Promise.withResolvers<void>> | null = null
  const loss = (lines: number): string => (lines === 0 ? '' : renderLoss(lines))

  const send = (): void => {
    const sent = { lines: waiting, dropped }
    waiting = ''
    dropped = 0
    writing ??= Promise.withResolvers()
    // A write that failed may have ended within a line.
    const before = refused === 0 ? '' : `\n${loss(refused)}`
    stream.write(before + sent.lines + loss(sent.dropped), (error) => {
      refused = error == null ? 0 : refused + countLines(sent.lines) + sent.dropped
      if (waiting !== '' || dropped > 0) return send()
      writing?.resolve()
      writing = null
    })
  }

  return {
    write(lines) {
      // Once some were dropped, so are those after them: what is written has one gap.
      const fits = dropped === 0 && waiting.length + lines.length <= MAX_WAITING_CHARS
      if (fits) waiting += lines
      else dropped += countLines(lines)
      if (writing === null) send()
    },
    drained: async () => await writing?.promise,
  }
}

const countLines = (text: string): number => text.split('\n').length - 1
