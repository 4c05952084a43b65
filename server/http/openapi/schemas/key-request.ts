/** Notes on the fields of a key that is issued or amended (contract §5). */
import type * as z from 'zod/mini'
import { MASK, MAX_MASK_CHARS, MAX_NAME_CHARS } from '#domain/key.ts'
import { forEachLimit } from '#domain/limits.ts'
import { KEY_NAME_PATTERN } from '#forms/fields.ts'
import type { amendmentForm, issueForm } from '../../read/key-request.ts'
import type { Notes } from '../notes.ts'

/** What a limit's schema cannot say, by its unit. */
const noteOf = (about: string) => ({
  slots: about,
  count: about,
  usd: {
    description: `${about}, in dollars as a decimal string of at most 6 places`,
    pattern: '^\\d{1,15}(\\.\\d{1,6})?$',
    examples: ['5.00'],
  },
  masks: {
    description: about,
    items: { type: 'string', pattern: MASK.source, maxLength: MAX_MASK_CHARS },
    examples: [['acme/*']],
  },
})

/** The fields of a new key; null means no limit. */
export const ISSUE_NOTES: Notes<z.input<typeof issueForm>> = {
  name: {
    description:
      'A name for people, without line breaks and other control characters, and not like the id or the secret of a key',
    minLength: 1,
    maxLength: MAX_NAME_CHARS,
    pattern: KEY_NAME_PATTERN.source,
    examples: ['worker'],
  },
  ...forEachLimit<ReturnType<typeof noteOf>>(({ unit, about }) => noteOf(about)[unit]),
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
