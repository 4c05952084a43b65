/** Verb: sends a trial mail, as sign-in codes and notices are sent, and reports the mail server's answer. */
import * as z from 'zod/mini'
import { readAs, scopeField } from '#forms/fields.ts'
import { readEmail } from '#signin/register/email.ts'
import { findScope } from './find-account.ts'
import { mutation } from './verb.ts'

export interface MailTrialRecord {
  readonly email: string
  /** Whether the mail server took the mail. It may still not arrive: the mail server delivers it. */
  readonly accepted: boolean
  /** The SMTP reply code, where one came. */
  readonly status: number | null
  /** Null if accepted: `no_smtp`, `refused`, `dns`, `tls`, `auth`, `timeout`, `status`, … */
  readonly failure: string | null
}

/** @throws invalid_request, account_not_found */
export const testMail = mutation(
  'users.test-mail',
  z.strictObject({ account: scopeField, email: readAs(readEmail, 'an e-mail address') }),
  async (deps, { account, email }, act): Promise<MailTrialRecord> => {
    await findScope(deps, account)
    const { tryMail } = deps.delivery
    const { status, failure } =
      tryMail === undefined ? { status: null, failure: 'no_smtp' } : await tryMail(email)
    const outcome = { accepted: failure === null, status, failure }
    // Without the address: the log of acts outlives a removed person.
    await deps.store.acts.note(act(null, outcome))
    return { email, ...outcome }
  },
)
