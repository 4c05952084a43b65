/** A verb: one operation of the operator API: validated input, and an answer that is exactly what `--json` prints. */
import type * as z from 'zod/mini'
import { type Act, type ActChanges, draftAct } from '#domain/act.ts'
import { GatewayError } from '#domain/errors.ts'
import { readForm } from '#forms/read-form.ts'
import type { OperatorDeps } from './deps.ts'
import { forgetReadings } from './kept-reading.ts'

export interface Verb<Sent, Input, Answer> {
  /** Reads the untrusted input; it is JSON on the socket and a plain object in-process. @throws invalid_request */
  read(untrusted: unknown): Input | Promise<Input>
  run(deps: OperatorDeps, input: Input): Promise<Answer>
  /** Set where it changes something. */
  readonly isMutation?: true
  /** Never set; carries the type of the input before parsing. */
  readonly sent?: Sent
}

/** Any verb, for callers by name. */
export type AnyVerb = Verb<unknown, unknown, unknown>

/** Defines a verb that changes nothing. */
export const verb = <Schema extends z.ZodMiniType, Answer>(
  input: Schema,
  run: (deps: OperatorDeps, input: z.output<Schema>) => Promise<Answer>,
): Verb<z.input<Schema>, z.output<Schema>, Answer> => ({
  read: (untrusted) => parse(input, untrusted),
  run,
})

/** Drafts the act of a verb, for the port method that makes the change; `changed` must not include secrets. */
export type DraftAct = (target: string | null, changed?: ActChanges) => Act

/** Defines a verb that changes something: each change of the store takes an act of its own along. */
export const mutation = <Schema extends z.ZodMiniType, Answer>(
  name: string,
  input: Schema,
  run: (deps: OperatorDeps, input: z.output<Schema>, act: DraftAct) => Promise<Answer>,
): Verb<z.input<Schema>, z.output<Schema>, Answer> => ({
  isMutation: true,
  read: (untrusted) => parse(input, untrusted),
  run: (deps, input) =>
    run(deps, input, (target, changed = {}) =>
      draftAct(deps.clock.now(), deps.who, name, { target, changed }),
    ).finally(() => forgetReadings(deps.store)),
})

/** Parses the input and runs the verb. @throws invalid_request, whose `param` is the path of the field, and what the verb itself throws */
export const perform = async <Input, Answer>(
  { read, run }: Verb<unknown, Input, Answer>,
  deps: OperatorDeps,
  untrusted: unknown,
): Promise<Answer> => run(deps, await read(untrusted))

async function parse<Schema extends z.ZodMiniType>(
  schema: Schema,
  untrusted: unknown,
): Promise<z.output<Schema>> {
  const reading = await readForm(schema, untrusted)
  if (reading.fits) return reading.value
  throw invalidInput(reading.path.join('.'), reading.message)
}

/** The error for invalid input; `param` is the path of the field, empty for the whole input. */
export const invalidInput = (param: string, expected: string): GatewayError =>
  new GatewayError(
    'invalid_request',
    param === '' ? expected : `${param}: ${expected}`,
    param === '' ? {} : { param },
  )
