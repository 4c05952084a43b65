/** A vector in the two formats of OpenAI's API: numbers, or base64 of little-endian floats of 32 bits. */
import type { Vector } from '#domain/result.ts'

const BYTES = 4

/** Undefined where it is none. */
export function readVector(value: unknown): Vector | undefined {
  if (typeof value === 'string') return value.length > 0 ? value : undefined
  if (!Array.isArray(value) || value.length === 0) return undefined
  return value.every((number) => typeof number === 'number') ? (value as number[]) : undefined
}

/** In the format that was asked for; undefined where its base64 holds no whole floats. */
export function toFormat(vector: Vector, format: 'float' | 'base64'): Vector | undefined {
  if (typeof vector === 'string') return format === 'base64' ? vector : toNumbers(vector)
  return format === 'float' ? vector : toBase64(vector)
}

function toBase64(numbers: readonly number[]): string {
  const bytes = new DataView(new ArrayBuffer(numbers.length * BYTES))
  for (const [i, number] of numbers.entries()) bytes.setFloat32(i * BYTES, number, true)
  return Buffer.from(bytes.buffer).toString('base64')
}

function toNumbers(base64: string): readonly number[] | undefined {
  const { buffer, byteOffset, byteLength } = Buffer.from(base64, 'base64')
  if (byteLength === 0 || byteLength % BYTES !== 0) return undefined
  const bytes = new DataView(buffer, byteOffset, byteLength)
  return Array.from({ length: byteLength / BYTES }, (_, i) => bytes.getFloat32(i * BYTES, true))
}
