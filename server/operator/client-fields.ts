/** Input fields of sign-in clients. */
import * as z from 'zod/mini'
import { readAs } from '#forms/fields.ts'
import { readAccessRule } from '#signin/register/access.ts'
import { redirectUriProblem } from '#signin/register/client.ts'

const MAX_ADDRESSES = 50

const addressField = z.string().check((checked) => {
  const fault = redirectUriProblem(checked.value)
  if (fault === null) return
  checked.issues.push({
    code: 'custom',
    input: checked.value,
    message: `"${checked.value}" ${fault}`,
  })
})

export const addressesField = z.array(addressField).check(
  z.maxLength(MAX_ADDRESSES, `must be at most ${MAX_ADDRESSES} addresses`),
  z.overwrite((uris) => [...new Set(uris)]),
)

const MAX_RULES = 1000

/** Who may enter: groups, addresses, domains. Null: everybody. */
export const allowedField = z.nullable(
  z.array(readAs(readAccessRule, 'a group, an address or a domain such as "@example.org"')).check(
    z.minLength(1, 'must name somebody: everybody is null, or in a file no such field'),
    z.maxLength(MAX_RULES),
    z.overwrite((rules) => [...new Set(rules)]),
  ),
)
