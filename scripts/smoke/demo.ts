// The first minute of a new user: start the demo, request an answer, stream one, stop the gateway meanwhile.
import { BINARY } from '../compile.ts'
import { bareEnvironment } from './run.ts'

const START_MS = 10_000
const DRAIN_MS = 15_000
const WORDS = 200

type Demo = { readonly baseUrl: string; readonly key: string }

/** Passes when the demo answers both ways and SIGTERM lets a running answer finish before exit 0. */
export async function answersAndDrains(scratch: string): Promise<string> {
  const server = Bun.spawn([BINARY, 'serve', '--demo'], {
    cwd: scratch,
    env: {
      ...bareEnvironment(scratch),
      GATEWAY_LISTEN: `127.0.0.1:${freePort()}`,
      GATEWAY_AUTH_LISTEN: `127.0.0.1:${freePort()}`,
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  try {
    const demo = await started(server)
    await answersWhole(demo)
    const drainedMs = await finishesWhileStopping(demo, server)
    return `whole, streamed, and drained to exit 0 in ${drainedMs} ms`
  } finally {
    server.kill('SIGKILL')
  }
}

async function answersWhole(demo: Demo): Promise<void> {
  const answer = await ask(demo, { messages: [{ role: 'user', content: 'hello there' }] })
  const text = await answer.text()
  if (answer.status !== 200 || !text.includes('hello there')) {
    throw new Error(`a whole answer was ${answer.status} ${text}`)
  }
}

/** Stops the server after the first chunk of a long answer; that answer must still come whole. */
async function finishesWhileStopping(demo: Demo, server: Bun.Subprocess): Promise<number> {
  const content = Array.from({ length: WORDS }, (_, n) => `word${n}`).join(' ')
  const answer = await ask(demo, { stream: true, messages: [{ role: 'user', content }] })
  if (answer.status !== 200 || !answer.body) throw new Error(`a stream was ${answer.status}`)
  let output = ''
  let stoppedAtMs = 0
  const decoder = new TextDecoder()
  for await (const chunk of answer.body) {
    output += decoder.decode(chunk, { stream: true })
    if (stoppedAtMs > 0) continue
    stoppedAtMs = performance.now()
    server.kill('SIGTERM')
  }
  if (!output.includes(`word${WORDS - 1}`) || !output.trimEnd().endsWith('data: [DONE]')) {
    throw new Error(`SIGTERM cut the answer short: …${output.slice(-200)}`)
  }
  const exitCode = await within(DRAIN_MS, server.exited, () => 'SIGTERM did not end the server')
  if (exitCode !== 0) throw new Error(`the drained server exited ${exitCode}`)
  return Math.round(performance.now() - stoppedAtMs)
}

function ask({ baseUrl, key }: Demo, body: object): Promise<Response> {
  return fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo/echo', ...body }),
  })
}

/** Reads the banner until it has printed the base URL and the key. */
async function started(server: Bun.Subprocess<'ignore', 'pipe', 'pipe'>): Promise<Demo> {
  let said = ''
  const listening = new Promise<Demo>((resolve, reject) => {
    const listen = async (stream: ReadableStream<Uint8Array>) => {
      const decoder = new TextDecoder()
      for await (const chunk of stream) {
        said += decoder.decode(chunk, { stream: true })
        const baseUrl = /OPENAI_BASE_URL=(\S+)/.exec(said)?.[1]
        const key = /OPENAI_API_KEY=(\S+)/.exec(said)?.[1]
        if (baseUrl && key && /listening/i.test(said)) resolve({ baseUrl, key })
      }
    }
    Promise.all([listen(server.stdout), listen(server.stderr)])
      .then(() => reject(new Error(`serve --demo ended early:\n${said}`)))
      .catch(reject)
  })
  return await within(START_MS, listening, () => `serve --demo did not start:\n${said}`)
}

async function within<T>(limitMs: number, work: Promise<T>, otherwise: () => string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(otherwise())), limitMs)
  return await Promise.race([work, late]).finally(() => clearTimeout(timer))
}

function freePort(): number {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = probe
  probe.stop(true)
  return port
}
