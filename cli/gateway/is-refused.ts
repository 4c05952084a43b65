/** Whether nobody listens at a socket: what Bun says of a file that a killed server left, or that is not there. */
import { systemCodeOf } from '#domain/system-code.ts'

const REFUSED = ['ECONNREFUSED', 'ENOENT', 'FailedToOpenSocket', 'ConnectionRefused']

/** Of what a fetch over a Unix socket threw. */
export const isRefused = (cause: unknown): boolean => REFUSED.includes(systemCodeOf(cause))
