/** An address that accepts no connection: a listener with a full queue, so that the kernel drops further ones. */
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'

export interface BlackHole {
  /** A connection to it neither succeeds nor fails. */
  readonly url: string
  close(): Promise<void>
}

/** On loopback a connection stands within microseconds, or not at all. */
const STANDS_WITHIN_MS = 250
/** Bun's queues have room for some five hundred; no kernel's default is larger than this. */
const MAX_FILLERS = 5_000

export async function openBlackHole(): Promise<BlackHole> {
  const child = Bun.spawn(
    [process.execPath, fileURLToPath(new URL('children/listen-deaf.ts', import.meta.url))],
    { stdout: 'pipe', stdin: 'ignore', stderr: 'inherit' },
  )
  const fillers: Socket[] = []
  const close = async (): Promise<void> => {
    for (const filler of fillers) filler.destroy()
    child.kill('SIGKILL')
    await child.exited
  }
  const port = Number(await firstLine(child.stdout))
  while (fillers.length < MAX_FILLERS) {
    const filler = connect(port, '127.0.0.1')
    filler.on('error', () => {})
    fillers.push(filler)
    if (!(await stands(filler))) return { url: `http://127.0.0.1:${port}`, close }
  }
  await close()
  throw new Error('this kernel takes whoever comes')
}

const stands = (socket: Socket): Promise<boolean> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), STANDS_WITHIN_MS)
    socket.once('connect', () => {
      clearTimeout(timer)
      resolve(true)
    })
  })

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  const reader = stream.getReader()
  let text = ''
  while (!text.includes('\n')) {
    const { done, value } = await reader.read()
    if (done) break
    text += new TextDecoder().decode(value)
  }
  reader.releaseLock()
  return text.trim()
}
