/** What a recording says, by none of the gateway's code: the answer, its count, or its error; cut short, what of it came. */
import { type RecordedResponse, type Recording, readRecording } from '#test/support/replay.ts'
import { hearAnthropic } from './anthropic.ts'
import { hearGemini } from './gemini.ts'
import { type Count, type Heardable, NOTHING, type Said, saysAnything, type Wire } from './heard.ts'
import { hearOpenAi } from './openai.ts'

export interface Truth {
  readonly said: Said
  /** In the contract's words; meaningless where it failed. */
  readonly finish: string
  readonly count: Count | null
  /** It was counted before the answer was complete, so that more may have been written than was counted. */
  readonly isPartial: boolean
  /** Null where all went well. The status is the provider's own, whether it came as one or inside a 200. */
  readonly failure: { readonly status: number; readonly text: string } | null
  /** Whether somebody pays: for an answer, and for what came of a broken one. */
  readonly isCharged: boolean
}

const READINGS: Readonly<Record<string, typeof hearOpenAi>> = {
  'anthropic-messages': hearAnthropic,
  gemini: hearGemini,
}

/** What is served of it; `crlf` as the replay server does it. */
export function bytesOf({ sse, text, body_prefix, body }: RecordedResponse, crlf = false): Buffer {
  const served = sse ?? text ?? (body_prefix ?? '') + JSON.stringify(body)
  return Buffer.from(sse !== undefined && crlf ? served.replace(/\r?\n/g, '\r\n') : served)
}

/** All of it, or what comes of the first `cut` bytes when the line breaks then. */
export function truthOf(recording: Recording, cut?: number): Truth {
  const { name, family } = recording
  const response = readRecording(name)
  const isCut = cut !== undefined
  // The head leaves with the first byte.
  if (cut === 0) return broken(BROKE_OFF)
  if (response.status !== 200) {
    // Half the words of an error are none; its status has said the most.
    return broken({ status: response.status, text: isCut ? '' : textOf(response) })
  }
  const isStream = response.sse !== undefined
  if (isCut && !isStream) return broken(BROKE_OFF)
  const heard = (READINGS[family] ?? hearOpenAi)(
    isStream ? eventsIn(bytesOf(response).subarray(0, cut)) : wholeOf(response),
  )
  const { hasEnded } = heard
  // No client can ask for images in a stream, so those in one are neither delivered nor charged.
  const { said, count } = isStream && draws(recording) ? withoutImages(heard) : heard
  const failure = heard.error ?? (hasEnded || !isStream ? null : BROKE_OFF)
  const isPartial = !hasEnded && family in READINGS
  return {
    said,
    count,
    isPartial,
    failure,
    finish: heard.finish ?? 'stop',
    isCharged: failure === null || saysAnything(said) || (count !== null && !isPartial),
  }
}

const withoutImages = ({ said, count }: Pick<Truth, 'said' | 'count'>) => ({
  said: { ...said, images: [] },
  count: count && { ...count, completion: count.completion - count.imageTokens, imageTokens: 0 },
})

/** Whether a recording is of a model that was asked for images. */
export const draws = (recording: Recording): boolean =>
  recording.family === 'openai-images' || /image-output/.test(recording.name)

const BROKE_OFF = { status: 502, text: '' }

const broken = (failure: Truth['failure']): Truth => ({
  said: NOTHING,
  finish: 'error',
  count: null,
  isPartial: false,
  failure,
  isCharged: false,
})

const wholeOf = ({ body }: RecordedResponse): Heardable => ({ wire: [body], isDone: false })

/** An event is one once the blank line behind it has come; a carriage return ends a line by itself. */
function eventsIn(bytes: Buffer): Heardable {
  const text = bytes.toString('utf8').replace(/\r\n?/g, '\n')
  const events = text.slice(0, text.lastIndexOf('\n\n') + 1).split('\n\n')
  const said: string[] = events.flatMap(
    (event) => /^data:[ \t]*(\S.*)$/m.exec(event)?.[1]?.trim() ?? [],
  )
  return {
    wire: said.filter((data) => data !== '[DONE]').map((data): Wire => JSON.parse(data)),
    isDone: said.includes('[DONE]'),
  }
}

function textOf({ text, body }: RecordedResponse): string {
  if (text !== undefined) return text
  const stated = body as Wire
  if (typeof stated === 'string') return stated
  const { error = stated, detail } = stated ?? {}
  if (Array.isArray(detail)) return detail[0].msg
  return typeof error === 'string' ? error : (detail ?? error?.message ?? '')
}
