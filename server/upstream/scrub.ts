/** Removes everything that identifies the operator from a provider's text: addresses, credentials, accounts; also control characters. */

/** Turns a provider's text into one that a client may read. */
export type Scrub = (text: string) => string

const MAX_CHARS = 1_000
/** Enough to find a secret that begins within the first 1,000 characters. */
const EXAMINED_CHARS = 4_000

const CONTROLS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu
const ADDRESSES = /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>]+/gi
const CREDENTIALS: readonly RegExp[] = [
  /\b(?:bearer|basic)\s+[^\s"',;]+/gi,
  /\b(?:api[-_ ]?key|key|token|secret|password|authorization)["']?\s*[=:]\s*["']?[^\s"',;]+/gi,
  /\b(?:sk|if|pk|rk|gsk|xai|csk|nvapi|hf|fw|tgp|r8|whsec|ghp|glpat)[-_][\w*.-]{6,}/gi,
  /\bAIza[\w-]{10,}/g,
  /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g,
  /[^\s"']*\*{3,}[^\s"']*/g,
]
/** Ids of the operator's account with the provider; on a cloud they are names of resources. */
const ACCOUNTS =
  /\b(?:org|user|acct|proj|project|req)[-_][A-Za-z0-9]{8,}|\barn:aws[\w-]*:[^\s"',;)\]]+|\bprojects\/[^\s"'/,;)\]]+/g

/** Also removes this provider's host and credential. The result has at most 1,000 characters. */
export function createScrub(host: string, credential: string | null): Scrub {
  const secrets = [credential ?? '', host].filter((secret) => secret.length >= 4)
  return (text) => {
    let clean = text.slice(0, EXAMINED_CHARS).replace(CONTROLS, ' ')
    for (const secret of secrets) clean = clean.replaceAll(secret, '[removed]')
    clean = clean.replace(ADDRESSES, '[address removed]')
    for (const pattern of CREDENTIALS) clean = clean.replace(pattern, '[credential removed]')
    clean = clean.replace(ACCOUNTS, '[account removed]')
    return clean.trim().slice(0, MAX_CHARS)
  }
}
