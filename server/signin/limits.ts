/** The rate limits of signing in that an operator may set, and their defaults. Loads nothing, because the command line shows them. */

export interface SigninLimits {
  /** Codes to one address from one network, or from one known browser, within 15 minutes. */
  readonly codesPerAddress: number
  /** Codes from one network, within an hour. */
  readonly codesPerNetwork: number
  /** Interactions that one network begins, and its logins at third parties, within 10 minutes. */
  readonly signinsPerNetwork: number
}

/** An office of 60 people behind one address signs in within ten minutes, with codes to spare. */
export const DEFAULT_LIMITS: SigninLimits = {
  codesPerAddress: 5,
  codesPerNetwork: 200,
  signinsPerNetwork: 100,
}
