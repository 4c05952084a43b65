/** The content blocks of a Messages request: images and documents are counted, and what names a file of the provider's is refused. */
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Extra } from '#domain/extras.ts'
import { isObject } from '#domain/json.ts'
import { findTool, noteLongCaching } from '../billed-extras.ts'
import { namesKept, refuseKeptPart } from '../kept-objects.ts'
import { Attachments, countImage } from '../read-common.ts'

const MAX_BLOCKS = 100_000

/** `system` and `messages`. @throws invalid_request, unsupported_parameter, invalid_image, too_many_images */
export function readBlocks(
  { system, messages }: JsonObject,
  extras: Extra[],
): Readonly<Attachments> {
  const found: Found = { attachments: new Attachments(), extras }
  readContent(system, 'system', found)
  for (const [i, message] of toList(messages).entries()) {
    if (!isObject(message)) throw invalid(`messages[${i}]`, 'must be an object')
    noteLongCaching(message, `messages[${i}]`, extras)
    readContent(message['content'], `messages[${i}].content`, found)
  }
  return found.attachments
}

/** What is counted, and what has a price of its own. */
interface Found {
  readonly attachments: Attachments
  readonly extras: Extra[]
}

function readContent(content: unknown, path: string, found: Found): void {
  const blocks = toList(content)
  if (blocks.length > MAX_BLOCKS) throw invalid(path, `may hold at most ${MAX_BLOCKS} blocks`)
  for (let i = 0; i < blocks.length; i++) {
    const block = blocks[i]
    if (!isObject(block)) throw invalid(`${path}[${i}]`, 'must be an object')
    if (PLAIN.has(block['type']) && block['cache_control'] === undefined) continue
    readBlock(block, `${path}[${i}]`, found)
  }
}

/** What is all text, and entirely in the body. */
const PLAIN: ReadonlySet<unknown> = new Set(['text', 'thinking', 'redacted_thinking', 'tool_use'])

function readBlock(block: JsonObject, path: string, found: Found): void {
  noteLongCaching(block, path, found.extras)
  const { type, source, content, tool } = block
  // Tools may be declared within the conversation too.
  if (isObject(tool) && isObject(tool['definition'])) {
    findTool(tool['definition'], `${path}.tool.definition`, found.extras)
  }
  if (isObject(source)) readSource(type, source, `${path}.source`, found)
  refuseKeptPart(block, path)
  if (Array.isArray(content)) readContent(content, `${path}.content`, found)
}

function readSource(blockType: unknown, source: JsonObject, path: string, found: Found): void {
  const { type, data, url, media_type: media, content } = source
  if (type === 'file') throw namesKept(`${path}.file_id`)
  if (blockType === 'image') {
    if (type === 'url' && typeof url === 'string') {
      countImage(url, `${path}.url`, found.attachments, 'messages')
    } else if (typeof data === 'string') {
      countImage(`data:${media};base64,${data}`, `${path}.data`, found.attachments, 'messages')
    }
  } else if (type === 'base64' || type === 'url') {
    found.attachments.files++
    if (typeof data === 'string') found.attachments.fileBytes += data.length
  }
  if (Array.isArray(content)) readContent(content, `${path}.content`, found)
}

const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const invalid = (param: string, problem: string): GatewayError =>
  new GatewayError('invalid_request', `${param} ${problem}`, { param })
