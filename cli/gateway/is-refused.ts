/** Whether nobody listens at a socket: what Bun says of a file that a killed server left, or that is not there. */

/** Of what a fetch over a Unix socket threw. */
export const isRefused = (cause: unknown): boolean =>
  cause instanceof Error &&
  'code' in cause &&
  ['ECONNREFUSED', 'ENOENT', 'FailedToOpenSocket', 'ConnectionRefused'].includes(String(cause.code))
