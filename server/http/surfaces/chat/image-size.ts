/** The size of the image that a chat asks for, by whichever of its names: one value, which is sent and charged. */
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import { readText } from '#domain/json.ts'

/** Ours, OpenRouter's, xAI's. */
const NAMES = ['size', 'image_size', 'resolution'] as const

/** Undefined where none is stated. */
export const imageSizeOf = (config: JsonObject): string | undefined => statedIn(config)[0]?.value

/** @throws invalid_request for two that differ: one of them might be drawn and the other charged */
export function requireOneSize(config: JsonObject): void {
  const [first, ...others] = statedIn(config)
  const other = others.find(({ value }) => value !== first?.value)
  if (first === undefined || other === undefined) return
  throw new GatewayError(
    'invalid_request',
    `image_config.${first.name} and image_config.${other.name} are two names of the size, and differ; state one of them`,
    { param: `image_config.${other.name}` },
  )
}

const statedIn = (config: JsonObject) =>
  NAMES.flatMap((name) => {
    const value = readText(config[name])
    return value === undefined ? [] : [{ name, value }]
  })
