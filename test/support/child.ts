/** A process of its own, running a file of ours under the same Bun, killed at the latest when the test is over. */
import { onTestFinished } from 'vitest'

export interface Child {
  /** Everything it has printed so far. */
  readonly printed: string
  /** Resolves once it has printed a line that begins so. */
  says(beginning: string): Promise<void>
  /** `kill -9`, and waits until it is gone and all it printed has been read. */
  kill(): Promise<void>
}

export function startChild(file: string, ...args: readonly string[]): Child {
  const started = Bun.spawn([process.execPath, file, ...args], { stdout: 'pipe', stderr: 'pipe' })
  let printed = ''
  const waiting = new Set<() => void>()
  const read = (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of started.stdout) {
      printed += decoder.decode(chunk, { stream: true })
      for (const look of waiting) look()
    }
  })()
  const complaints = started.stderr.text()
  onTestFinished(() => started.kill('SIGKILL'))

  return {
    get printed() {
      return printed
    },
    says(beginning) {
      return new Promise((resolve, reject) => {
        const look = (): void => {
          if (`\n${printed}`.includes(`\n${beginning}`)) resolve()
        }
        waiting.add(look)
        look()
        void complaints.then((text) => reject(new Error(`it ended without a word: ${text}`)))
      })
    },
    async kill() {
      started.kill('SIGKILL')
      await started.exited
      await read
    },
  }
}
