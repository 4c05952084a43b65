/** Input fields of identity providers. */
import * as z from 'zod/mini'
import { readAs } from '#forms/fields.ts'
import { readEmail } from '#signin/register/email.ts'
import { isIdentityProviderName, issuerProblem } from '#signin/register/identity-provider.ts'

export const providerNameField = z.string().check(
  z.refine(isIdentityProviderName, {
    error: ({ input }) =>
      `must be at most 32 lower-case letters, digits and hyphens (got "${String(input)}")`,
  }),
)

export const issuerField = z.string().check((checked) => {
  const fault = issuerProblem(checked.value)
  if (fault === null) return
  const message = `"${checked.value}" ${fault}`
  checked.issues.push({ code: 'custom', input: checked.value, message })
})

/** Client id and secret are sent in a form or a header. */
const ONE_LINE = /^[\x21-\x7e]{1,4096}$/
const oneLine = () =>
  z.string().check(
    z.trim(),
    z.refine((text) => ONE_LINE.test(text), 'is not one line of visible characters'),
  )

export const clientIdField = oneLine()
export const secretField = oneLine()

const MAX_DOMAINS = 50

/** A domain in lower case and ASCII (Punycode). */
const readDomain = (text: string): string | undefined =>
  text.includes('@') ? undefined : readEmail(`x@${text}`)?.slice(2)

export const domainsField = z
  .array(readAs(readDomain, 'a domain such as "example.org"'))
  .check(z.maxLength(MAX_DOMAINS, `must be at most ${MAX_DOMAINS} domains`))
