/** Ours → theirs: what OpenRouter needs beside the client's own body, so that it does and bills nothing unasked. */
import type { JsonObject } from '#domain/chat.ts'
import { readList, readObject } from '#domain/json.ts'
import type { OutputBound } from '#domain/provider.ts'
import type { Work } from '#domain/work.ts'
import { type Asked, toRequest } from './to-request.ts'

/** The body to send. */
export function toOpenRouter(asked: Asked, spelling?: OutputBound | null): JsonObject {
  const { request } = asked
  const { card } = asked.hop
  const { body, wantsImages } = request
  return {
    ...toRequest(asked, spelling),
    usage: { ...readObject(body['usage']), include: true },
    // A model that can draw may draw unasked (contract §8).
    ...(!wantsImages && card.outputModalities.includes('image') && { modalities: ['text'] }),
    ...(hasFile(request) && !card.inputModalities.includes('file') && toPlugins(body['plugins'])),
  }
}

/** The parts are visited only where the size of a file counts. */
const hasFile = (request: Work): boolean =>
  request.kind === 'generate' &&
  request.isUnbounded === true &&
  readList(request.body['messages']).some((message) =>
    readList(readObject(message)['content']).some((part) => readObject(part)['type'] === 'file'),
  )

/** Without a stated engine, OpenRouter may choose one that it bills by the page. */
function toPlugins(stated: unknown): { plugins?: readonly unknown[] } {
  const plugins = readList(stated)
  return plugins.some((plugin) => readObject(plugin)['id'] === 'file-parser')
    ? {}
    : { plugins: [...plugins, { id: 'file-parser', pdf: { engine: 'cloudflare-ai' } }] }
}
