// Which refusals are about the name of the bound, in the words of real servers; those about its value stay the caller's.
import { expect, test } from 'vitest'
import type { BoundWord, OutputBound } from '#domain/provider.ts'
import { fromErrorAnswer } from '#upstream/openai/from-error.ts'
import { respellBound } from '#upstream/openai/respell-bound.ts'

const respelled = (sent: OutputBound, status: number, body: unknown) =>
  respellBound(
    sent,
    fromErrorAnswer(
      status,
      typeof body === 'string' ? body : JSON.stringify(body),
      undefined,
      (text) => text,
    ),
  )

const error = (message: string, more: object = {}) => ({ error: { message, ...more } })
const OLD = 'max_tokens'
const NEW = 'max_completion_tokens'
const extra = (...words: readonly BoundWord[]) => ({
  detail: words.map((word) => ({
    type: 'extra_forbidden',
    loc: ['body', word],
    msg: 'Extra inputs are not permitted',
    input: 5,
  })),
})
const USE_NEW = error(
  "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  { type: 'invalid_request_error', param: OLD, code: 'unsupported_parameter' },
)

test.each<[string, OutputBound, number, unknown, BoundWord]>([
  ['OpenAI, a reasoning model', OLD, 400, USE_NEW, NEW],
  ['the same, to both', 'both', 400, USE_NEW, NEW],
  [
    'OpenAI, both',
    'both',
    400,
    error("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.", {
      param: OLD,
      code: 'invalid_parameter_combination',
    }),
    NEW,
  ],
  [
    'Volcengine, both',
    'both',
    400,
    error(
      'The parameter max_tokens specified in the request are not valid: max_tokens and max_completion_tokens cannot be set at the same time. Request id: 0217',
      { param: OLD, code: 'InvalidParameter' },
    ),
    NEW,
  ],
  [
    'Google, both, in a list',
    'both',
    400,
    [{ error: { code: 400, message: 'max_tokens and max_completion_tokens cannot both be set' } }],
    NEW,
  ],
  ['pydantic', 'both', 422, extra(NEW), OLD],
  ['pydantic, the other', 'both', 422, extra(OLD), NEW],
  [
    'pydantic beside another fault',
    NEW,
    422,
    {
      detail: [
        ...extra(NEW).detail,
        { loc: ['body', 'top_p'], msg: 'Input should be less than or equal to 1' },
      ],
    },
    OLD,
  ],
  [
    'vLLM of old',
    NEW,
    400,
    {
      object: 'error',
      message:
        "[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra inputs are not permitted', 'input': 8192}]",
      code: 400,
    },
    OLD,
  ],
  [
    'Fireworks',
    NEW,
    400,
    error("Extra inputs are not permitted, field: 'max_completion_tokens', value: 5000"),
    OLD,
  ],
  [
    'serde, which lists what it knows',
    'both',
    422,
    'Failed to deserialize: unknown field `max_completion_tokens`, expected one of `messages`, `max_tokens`',
    OLD,
  ],
  [
    'Azure of old',
    NEW,
    400,
    error('Unrecognized request argument supplied: max_completion_tokens'),
    OLD,
  ],
  [
    'a protobuf API',
    NEW,
    400,
    error(
      'Invalid JSON payload received. Unknown name "max_completion_tokens": Cannot find field.',
    ),
    OLD,
  ],
  ['plain words', 'both', 400, error('max_completion_tokens is not supported'), OLD],
  ['a param and no name', NEW, 400, error('Unsupported parameter', { param: NEW }), OLD],
])('%s', (_, sent, status, body, word) => {
  expect(respelled(sent, status, body)).toBe(word)
})

test.each<[string, OutputBound, number, unknown]>([
  [
    'too large',
    OLD,
    400,
    error('max_tokens is too large: 200000. This model supports at most 16384 completion tokens.', {
      param: OLD,
    }),
  ],
  [
    'vLLM, too large',
    'both',
    400,
    error(
      "'max_tokens' or 'max_completion_tokens' is too large: 200000. This model's maximum context length is 4096 tokens and your request has 10 input tokens (200000 > 4096 - 10).",
    ),
  ],
  [
    'pydantic, a range',
    'both',
    422,
    { detail: [{ loc: ['body', OLD], msg: 'Input should be less than or equal to 4096' }] },
  ],
  ['a value in other words', OLD, 400, error('max_tokens 200000 is not supported by this model')],
  [
    'OpenAI, a value',
    OLD,
    400,
    error("Unsupported value: 'max_tokens' does not support 0 with this model.", {
      param: OLD,
      code: 'unsupported_value',
    }),
  ],
  ['a limit', OLD, 400, error('max_tokens is not allowed to exceed the limit')],
  [
    'another field',
    'both',
    400,
    error("Unknown parameter: 'top_k'.", { param: 'top_k', code: 'unknown_parameter' }),
  ],
  ['a word that was not sent', OLD, 422, extra(NEW)],
  ['no bound was sent', 'none', 400, USE_NEW],
  ['another status', OLD, 500, USE_NEW],
  ['no words', 'both', 400, ''],
])('not about the name: %s', (_, sent, status, body) => {
  expect(respelled(sent, status, body)).toBeNull()
})
