/** Serves the answers that it is started with, by the first step of the path, and tells at `/` what it was asked. */
import { writeSync } from 'node:fs'
import { streamed, whole } from '#scripts/bench/answer.ts'
import { IDLE, type Part, plain, startRawServer } from '#scripts/soak/raw-server.ts'
import type { SyntheticAnswer, SyntheticChat, UpstreamRequest } from '../synthetic-upstream.ts'

type Asked = { -readonly [Field in keyof UpstreamRequest]: UpstreamRequest[Field] }

/** The part of a chat request that decides on the shape of its answer. */
interface ChatBody {
  readonly model?: string
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean }
}

const answers: Readonly<Record<string, SyntheticAnswer>> = JSON.parse(process.argv[2] ?? '{}')
const asked: Asked[] = []

function toPart(text: string): Part {
  const request = readRequest(text)
  const { method, path, headers } = request
  if (path === '/') return answerWith('200 OK', JSON.stringify(asked))
  asked.push(request)
  const onOver = (isWhole: boolean): void => {
    request.finished = isWhole
    request.aborted = !isWhole
  }
  const answer = answers[path.split('/')[1] ?? '']
  if (answer === undefined) return { ...answerWith('404 Not Found', '{}'), onOver }
  if (method === 'GET') return { ...answerWith('200 OK', '{"object":"list","data":[]}'), onOver }
  return { ...partOf(answer, request.body as ChatBody, headers['host'] ?? ''), onOver }
}

function partOf(answer: SyntheticAnswer, body: ChatBody, host: string): Part {
  switch (answer.kind) {
    case 'chat':
      return body.stream === true ? streamedPart(answer, body) : wholePart(answer, body)
    case 'plain': {
      const { status, redirectTo } = answer
      const location = redirectTo === undefined ? '' : `\r\nlocation: http://${host}/${redirectTo}`
      return answerWith(`${status} x${location}`, answer.body)
    }
    default:
      return { ...IDLE, ending: answer.kind }
  }
}

const answerWith = (status: string, body: string): Part => ({
  ...plain(status, body),
  ending: 'keep',
})

const delayOf = ({ delayMs }: SyntheticChat) => (delayMs === undefined ? {} : { delayMs })

const headOf = ({ model = 'synthetic' }: ChatBody) => ({
  id: 'chatcmpl-synthetic',
  created: Math.floor(Date.now() / 1000),
  model,
})

const usageOf = (promptTokens: number, completionTokens: number) => ({
  usage: {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  },
})

function wholePart(answer: SyntheticChat, body: ChatBody): Part {
  const message = { role: 'assistant', content: answer.chunks.join('').trim() }
  const said = whole({
    ...headOf(body),
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    ...usageOf(answer.promptTokens, answer.completionTokens),
  })
  return { ...said, ...delayOf(answer), ending: 'keep' }
}

function streamedPart(answer: SyntheticChat, body: ChatBody): Part {
  const { promptTokens, completionTokens, chunks, gapMs = 0, countsAlong, breaksOff } = answer
  const head = { ...headOf(body), object: 'chat.completion.chunk' }
  const event = (rest: object): string => `data: ${JSON.stringify({ ...head, ...rest })}\n\n`
  const delta = (content: object, saidTokens: number, finish: string | null = null): string =>
    event({
      choices: [{ index: 0, delta: content, finish_reason: finish }],
      ...(countsAlong && usageOf(promptTokens, saidTokens)),
    })
  const counted = body.stream_options?.include_usage
    ? event({ choices: [], ...usageOf(promptTokens, completionTokens) })
    : ''
  const events = {
    first: delta({ role: 'assistant', content: '' }, 0),
    chunks: chunks.map((content, place) => delta({ content }, place + 1)),
    last: `${delta({}, completionTokens, 'stop')}${counted}data: [DONE]\n\n`,
  }
  const { pieces } = streamed(events, { perPiece: 1, gapMs })
  const pace = { gapMs, ...delayOf(answer) }
  if (breaksOff === undefined) return { pieces, ...pace, ending: 'keep' }
  const kept = pieces.slice(0, 1 + breaksOff.afterChunks)
  const torn = pieces[kept.length]
  const half = torn === undefined ? [] : [torn.subarray(0, torn.length / 2)]
  return { pieces: [...kept, ...half], ...pace, ending: breaksOff.ending }
}

function readRequest(text: string): Asked {
  const headEnd = text.indexOf('\r\n\r\n')
  const [start = '', ...fields] = text.slice(0, headEnd).split('\r\n')
  const [method = '', path = ''] = start.split(' ')
  const headers = Object.fromEntries(
    fields.map((field) => {
      const colon = field.indexOf(':')
      return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()]
    }),
  )
  const raw = Buffer.from(text.slice(headEnd + 4), 'latin1').toString()
  return { method, path, headers, body: parsed(raw), aborted: false, finished: false }
}

function parsed(raw: string): unknown {
  try {
    return JSON.parse(raw)
  } catch {
    return raw
  }
}

const { origin } = startRawServer(toPart)
writeSync(1, `listening ${origin}\n`)
