/** A verb: one act of an operator, its input parsed, its answer exactly what `--json` prints. */
import type * as z from 'zod/mini'
import { GatewayError } from '#domain/errors.ts'
import { readForm } from '#forms/read-form.ts'
import type { Office } from './office.ts'

export interface Verb<Sent, Input, Answer> {
  /** Reads the untrusted input; it is JSON on the socket and a plain object in-process. @throws invalid_request */
  read(untrusted: unknown): Input | Promise<Input>
  run(office: Office, input: Input): Promise<Answer>
  /** Never set: it tells the compiler what a caller sends. */
  readonly sent?: Sent
}

/** Any verb, as a door sees it that calls by name. */
export type AnyVerb = Verb<unknown, unknown, unknown>

/** Ties an input to its act, so that both keep their types. */
export const verb = <Schema extends z.ZodMiniType, Answer>(
  input: Schema,
  run: (office: Office, input: z.output<Schema>) => Promise<Answer>,
): Verb<z.input<Schema>, z.output<Schema>, Answer> => ({
  read: (untrusted) => parse(input, untrusted),
  run,
})

/** Reads and runs. @throws invalid_request, whose `param` is the path of the field, and what the verb itself throws */
export const perform = async <Input, Answer>(
  { read, run }: Verb<unknown, Input, Answer>,
  office: Office,
  untrusted: unknown,
): Promise<Answer> => await run(office, await read(untrusted))

async function parse<Schema extends z.ZodMiniType>(
  schema: Schema,
  untrusted: unknown,
): Promise<z.output<Schema>> {
  const reading = await readForm(schema, untrusted)
  if (reading.fits) return reading.value
  throw invalid(reading.path.join('.'), reading.message)
}

/** An input that cannot be read; `param` is the path of the field, empty for the whole. */
export const invalid = (param: string, expected: string): GatewayError =>
  new GatewayError(
    'invalid_request',
    param === '' ? expected : `${param}: ${expected}`,
    param === '' ? {} : { param },
  )
