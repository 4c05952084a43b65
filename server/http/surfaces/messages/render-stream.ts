/** A streamed answer: the provider's own frames where it speaks the dialect, else frames of ours. */
import type { Work } from '#domain/work.ts'
import type { StreamHead, StreamRenderer } from '../surface.ts'
import { NativeStream } from './native/render-stream.ts'
import { TranslatedStream } from './translated/render-stream.ts'

export const startMessagesStream = (head: StreamHead, work: Work): StreamRenderer =>
  head.isNative ? new NativeStream(work) : new TranslatedStream(head, work)
