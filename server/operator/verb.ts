/** A verb: one operation of the operator API: validated input, and an answer that is exactly what `--json` prints. */
import type * as z from 'zod/mini'
import { type Act, type ActChanges, type ActFacts, draftAct } from '#domain/act.ts'
import { GatewayError } from '#domain/errors.ts'
import { readForm } from '#forms/read-form.ts'
import type { OperatorDeps } from './deps.ts'

export interface Verb<Sent, Input, Answer> {
  /** Reads the untrusted input; it is JSON on the socket and a plain object in-process. @throws invalid_request */
  read(untrusted: unknown): Input | Promise<Input>
  run(deps: OperatorDeps, input: Input): Promise<Answer>
  /** Set on a mutation: describes the change for the log of acts. */
  readonly acts?: ActDescription<Input, Answer>
  /** Never set; carries the type of the input before parsing. */
  readonly sent?: Sent
}

/** `describe` returns null when nothing changed. */
interface ActDescription<Input, Answer> {
  readonly verb: string
  describe(input: Input, answer: Answer): ActFacts | readonly ActFacts[] | null
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
  describe: (
    input: z.output<Schema>,
    answer: Answer,
  ) => ActFacts | readonly ActFacts[] | null = () => null,
): Verb<z.input<Schema>, z.output<Schema>, Answer> => ({
  read: (untrusted) => parse(input, untrusted),
  run: (deps, input) =>
    run(deps, input, (target, changed = {}) =>
      draftAct(deps.clock.now(), deps.who, name, { target, changed }),
    ),
  acts: { verb: name, describe },
})

/**
 * Parses the input, runs the verb and records its acts before the answer is returned.
 * @throws invalid_request, whose `param` is the path of the field, and what the verb itself throws
 */
export async function perform<Input, Answer>(
  { read, run, acts }: Verb<unknown, Input, Answer>,
  deps: OperatorDeps,
  untrusted: unknown,
): Promise<Answer> {
  const input = await read(untrusted)
  const answer = await run(deps, input)
  if (acts) await recordActs(deps, acts.verb, acts.describe(input, answer))
  return answer
}

async function recordActs(
  { store, clock, who }: OperatorDeps,
  verb: string,
  facts: ActFacts | readonly ActFacts[] | null,
): Promise<void> {
  const all = facts === null ? [] : isList(facts) ? facts : [facts]
  for (const one of all) {
    await store.acts.note(draftAct(clock.now(), who, verb, one)).catch((cause) => {
      throw notRecorded(verb, cause)
    })
  }
}

/** The change was made, but recording it failed, for instance because the disk is full. */
const notRecorded = (verb: string, cause: unknown): GatewayError =>
  new GatewayError(
    'store_unavailable',
    `${verb} was done, but the log of acts took no note of it`,
    {
      hint: 'gatewayctl doctor',
      cause,
    },
  )

const isList = (facts: ActFacts | readonly ActFacts[]): facts is readonly ActFacts[] =>
  Array.isArray(facts)

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
