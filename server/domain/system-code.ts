/** The code by which a system, a runtime or an engine calls a fault: `ENOENT`, `ECONNREFUSED`, `SQLITE_FULL`. */

/** Empty where it has none. */
export const systemCodeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : ''
