/** The error code of the system, the runtime or SQLite: `ENOENT`, `ECONNREFUSED`, `SQLITE_FULL`. */

/** Empty where it has none. */
export const systemCodeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : ''
