/** A verb: one act of an operator, its input parsed, its answer exactly what `--json` prints. */
import type * as z from 'zod/mini'
import { GatewayError } from '#domain/errors.ts'
import type { Office } from './office.ts'

export interface Verb<Input extends z.ZodMiniType, Record> {
  /** Reads the untrusted input; it is JSON on the socket and a plain object in-process. */
  readonly input: Input
  run(office: Office, input: z.output<Input>): Promise<Record>
}

/** Ties an input to its act, so that both keep their types. */
export const verb = <Input extends z.ZodMiniType, Record>(
  input: Input,
  run: (office: Office, input: z.output<Input>) => Promise<Record>,
): Verb<Input, Record> => ({ input, run })

/** Parses and runs. @throws invalid_request, whose `param` is the path of the field, and what the verb itself throws */
export async function perform<Input extends z.ZodMiniType, Record>(
  { input, run }: Verb<Input, Record>,
  office: Office,
  untrusted: unknown,
): Promise<Record> {
  const parsed = input.safeParse(untrusted)
  if (parsed.success) return await run(office, parsed.data)
  // The words of the parser are loaded only when it has something to say.
  const { default: english } = await import('zod/v4/locales/en.js')
  const issue = input.safeParse(untrusted, { error: english().localeError }).error?.issues[0]
  const param = issue?.path.join('.') ?? ''
  throw new GatewayError(
    'invalid_request',
    param === '' ? (issue?.message ?? 'invalid input') : `${param}: ${issue?.message}`,
    param === '' ? {} : { param },
  )
}
