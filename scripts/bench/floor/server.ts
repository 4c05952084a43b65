/**
 * A gateway that does as little as one can on this runtime. By step: `client` passes texts on with our HTTP client, `json`
 * parses and serialises both, `accounting` also admits and settles each request in our store, and answers after the commit.
 */
import { toTarget } from '#upstream/http1/exchange.ts'
import { postOverConnection } from '#upstream/http1/post.ts'
import type { ExchangeControl, Reply } from '#upstream/reply.ts'
import { type Accounting, openAccounting } from './accounting.ts'
import type { Step } from './steps.ts'

const [upstream, step, dataDir = '', secret = ''] = process.argv.slice(2) as [
  string,
  Step,
  string?,
  string?,
]
if (!step) throw new Error('usage: server.ts UPSTREAM_URL client|json|accounting [DATA_DIR SECRET]')

const REQUEST = { 'content-type': 'application/json', authorization: 'Bearer bench' }
const RESPONSE = { headers: { 'content-type': 'application/json' } }
const MAX_BYTES = 65_536

const post = postOverConnection(toTarget(new URL(upstream), null))
const accounting: Accounting | null =
  step === 'accounting' ? await openAccounting(dataDir, secret) : null

const neverAborted: ExchangeControl = {
  isAborted: false,
  attach() {},
  connecting() {},
  connected() {},
  sent() {},
}

const exchange = (body: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const handler = {
      resolve: (reply: Reply) => resolve(reply.takeText?.(MAX_BYTES) ?? readText(reply)),
      reject,
    }
    post({ headers: REQUEST, body }, handler, neverAborted, false)
  })

async function readText(reply: Reply): Promise<string> {
  const pieces: Uint8Array[] = []
  for (;;) {
    const piece = await reply.read()
    if (piece.done) return Buffer.concat(pieces).toString()
    pieces.push(piece.value)
  }
}

async function answer(asked: string): Promise<string> {
  if (step === 'client') return await exchange(asked)
  const request = JSON.parse(asked)
  const settle = await accounting?.admit()
  const answered = JSON.parse(await exchange(JSON.stringify({ ...request, model: 'm' })))
  await settle?.(answered.usage.total_tokens)
  return JSON.stringify({ ...answered, id: 'gen-bench' })
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 120,
  development: false,
  fetch: async (request) => new Response(await answer(await request.text()), RESPONSE),
})

console.log(server.url.origin)
