/** A streamed answer: the provider's own frames where it speaks the dialect, else frames of ours. */
import type { Work } from '#domain/work.ts'
import type { Seals } from '../../seals.ts'
import type { StreamHead, StreamRenderer } from '../surface.ts'
import { NativeStream } from './native/render-stream.ts'
import { TranslatedStream } from './translated/render-stream.ts'

export const startResponsesStream = (head: StreamHead, work: Work, seals: Seals): StreamRenderer =>
  head.isNative ? new NativeStream(head, work) : new TranslatedStream(head, work, seals)
