/** Notes on the fields of a key that is issued or amended (contract §5). */
import type * as z from 'zod/mini'
import { MASK, MAX_MASK_CHARS, MAX_NAME_CHARS } from '#domain/key.ts'
import { NAME_PATTERN } from '#forms/fields.ts'
import type { amendmentForm, issueForm } from '../../read/key-request.ts'
import type { Notes } from '../notes.ts'

const ceiling = (description: string) => ({
  description: `${description}, in dollars as a decimal string of at most 6 places`,
  pattern: '^\\d{1,15}(\\.\\d{1,6})?$',
  examples: ['5.00'],
})

const MASKS = {
  description:
    'The models that it may call: exact ids, `<provider>/*` or `*`. Null allows every model',
  items: { type: 'string', pattern: MASK.source, maxLength: MAX_MASK_CHARS },
  examples: [['acme/*']],
}

/** The fields of a new key; null means no limit. */
export const ISSUE_NOTES: Notes<z.input<typeof issueForm>> = {
  name: {
    description: 'A name for people, without line breaks and other control characters',
    minLength: 1,
    maxLength: MAX_NAME_CHARS,
    pattern: NAME_PATTERN.source,
    examples: ['worker'],
  },
  rpm_limit: 'Requests in any 60 seconds',
  rpd_limit: 'Requests in any 24 hours',
  concurrency_limit: 'Requests in progress at once',
  daily_spend_limit_usd: ceiling('Ceiling of a UTC day'),
  monthly_spend_limit_usd: ceiling('Ceiling of a UTC calendar month'),
  end_user_rpm: 'Requests of each end user (`user`) in any 60 seconds',
  end_user_daily_usd: ceiling('Ceiling of each end user in a UTC day'),
  max_output_tokens: 'Output tokens of one answer, which ends there with `length`',
  allowed_models: MASKS,
  expires_at: {
    description: 'A time in the future, with its offset. Null for never',
    format: 'date-time',
    examples: ['2026-12-01T00:00:00Z'],
  },
}

/** The fields of a change; absent fields stay, null removes a limit. */
export const AMENDMENT_NOTES: Notes<z.input<typeof amendmentForm>> = {
  ...ISSUE_NOTES,
  disabled: 'True disables the key, false enables it again',
}
