// Recorded answers and captured requests of the other surfaces, where they are there.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { RecordedResponse } from './replay.ts'

const SURFACES = fileURLToPath(new URL('../../../shared/surfaces/', import.meta.url))

export interface SurfaceRecording {
  readonly name: string
  readonly path: string
  /** What was asked; null where only the answer is known. */
  readonly request: Readonly<Record<string, unknown>> | null
  readonly response: RecordedResponse
}

const filesIn = (room: string): readonly string[] =>
  existsSync(room)
    ? readdirSync(room)
        .filter((name) => name.endsWith('.json'))
        .map((name) => `${room}/${name}`)
    : []

/** Every recording of a family; empty where there are none. */
export const surfaceRecordings = (family: string): readonly SurfaceRecording[] =>
  filesIn(`${SURFACES}recordings/${family}`).map((file) => {
    const { request, response } = JSON.parse(readFileSync(file, 'utf8'))
    return { name: basename(file, '.json'), path: request.path, request: request.body, response }
  })

export interface Capture {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>> | null
}

/** Every captured request of a path. */
export const captures = (path: string): readonly Capture[] =>
  filesIn(`${SURFACES}captures`)
    .map((file) => ({ file, capture: JSON.parse(readFileSync(file, 'utf8')).request }))
    .filter(({ capture }) => capture.path.split('?')[0] === path)
    .map(({ file, capture }) => ({
      name: basename(file, '.json'),
      method: capture.method,
      path: capture.path,
      headers: Object.fromEntries(
        capture.headers.map(([header, value]: [string, string]) => [header.toLowerCase(), value]),
      ),
      body: capture.body ?? null,
    }))
