/** Reads a JSON file that an operator gives; what is wrong with it is said with its line. */
import { DocumentFault } from '#domain/document-fault.ts'
import { parseAsWritten } from '#domain/json.ts'
import { MAX_DEPTH, tooDeepAt } from '#domain/json-text.ts'
import { CommandError, EXIT, usageError } from '../exit.ts'
import { fileFault } from '../file-fault.ts'
import { lineAt, lineOfFault, lineOfValue } from '../json-lines.ts'
import { readInput } from './read-input.ts'

/** All the prices of models.dev, or a year of a vendor's report, many times over. */
const MAX_BYTES = 64 * 1_024 * 1_024

/**
 * `path` is `-` for standard input; `read` gets the document with its numbers as they were written.
 * @throws CommandError 1 for a file that cannot be read, 2 for one that is wrong
 */
export async function readDocument<T>(
  path: string,
  read: (document: unknown) => T | Promise<T>,
): Promise<T> {
  const text = await readText(path)
  const name = path === '-' ? 'standard input' : path
  let document: unknown
  try {
    document = parseAsWritten(text)
  } catch {
    const deepAt = tooDeepAt(text)
    throw usageError(
      deepAt === null
        ? `${name}:${lineOfFault(text) ?? 1} is not JSON`
        : `${name}:${lineAt(text, deepAt)} is nested more than ${MAX_DEPTH} levels deep`,
    )
  }
  try {
    return await read(document)
  } catch (thrown) {
    if (!(thrown instanceof DocumentFault)) throw thrown
    const place = thrown.path.join('.')
    throw usageError(
      `${name}:${lineOfValue(text, thrown.path)} ${place === '' ? '' : `${place} `}${thrown.message}`,
    )
  }
}

/** @throws CommandError 1, 2 */
const readText = (path: string): Promise<string> =>
  readInput(path, MAX_BYTES).catch((cause: unknown) => {
    if (cause instanceof CommandError) throw cause
    throw new CommandError('unreadable', EXIT.failed, `cannot read ${path}: ${fileFault(cause)}`)
  })
