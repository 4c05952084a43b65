/** Which source in `form-action` lets a form's redirect chain end at a client (hardening §3.1). */

/** Characters that cannot end a CSP directive; a URL's host may contain `;`. */
const CSP_SOURCE = /^https?:\/\/[a-z0-9.-]+(:\d+)?$/

/**
 * The CSP source for a URL: its origin, or only its scheme where CSP cannot express the origin (`com.example.app:/back`,
 * IPv6 hosts). Undefined if it is not a URL.
 */
export function formTarget(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined
  const { protocol, origin } = new URL(address)
  return CSP_SOURCE.test(origin) ? origin : protocol
}
