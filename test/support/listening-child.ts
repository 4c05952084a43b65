/** A server in a process of its own: neither a test that blocks nor one that is busy holds it up. */

/** A server that has said where it listens. */
export interface ListeningChild {
  /** `http://127.0.0.1:port` */
  readonly url: string
  stop(): Promise<void>
}

/** Starts it, and waits for its line `listening http://…`. */
export async function startListening(command: readonly string[]): Promise<ListeningChild> {
  // With the stream of this process it would keep that open, and the run waiting, where nobody stops it.
  const child = Bun.spawn([...command], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const complaints = child.stderr.text()
  return {
    url: await readAddress(child.stdout, complaints),
    async stop() {
      child.kill()
      await child.exited
    },
  }
}

async function readAddress(
  output: ReadableStream<Uint8Array>,
  complaints: Promise<string>,
): Promise<string> {
  let said = ''
  const decoder = new TextDecoder()
  for await (const piece of output) {
    said += decoder.decode(piece, { stream: true })
    const url = /^listening (http:\S+)$/m.exec(said)?.[1]
    if (url) return url
  }
  throw new Error(`the server did not start: ${said}${await complaints}`)
}
