/** Whether nothing listens on a Unix socket: a file left by a killed server, or no file. */
import { systemCodeOf } from '#domain/system-code.ts'

const REFUSED = ['ECONNREFUSED', 'ENOENT', 'FailedToOpenSocket', 'ConnectionRefused']

/** For an error of a fetch over a Unix socket. */
export const isRefused = (cause: unknown): boolean => REFUSED.includes(systemCodeOf(cause))
