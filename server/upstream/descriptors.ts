/** Detects that this process, or the whole machine, has run out of file descriptors: the runtime reports it as a refused connection. */
import { closeSync, openSync, readFileSync } from 'node:fs'
import { GatewayError } from '#domain/errors.ts'
import { systemCodeOf } from '#domain/system-code.ts'
import { openFilesLimit } from '#runtime/open-files.ts'

/** Descriptors become free as soon as other requests end. */
const RETRY_SECONDS = 1

/** Of the process, and of the machine. */
const EXHAUSTED: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE'])

/** Read at start, because without a descriptor it can no longer be read. Null where `/proc` does not have it. */
const maxOpenFiles = readLimit()

function readLimit(): number | null {
  try {
    return openFilesLimit(readFileSync('/proc/self/limits', 'utf8'))
  } catch {
    return null
  }
}

/** Call right after a connection failed with `cause`; null when a descriptor is available, so that the provider is at fault. */
export function descriptorsExhausted(cause: unknown): GatewayError | null {
  const code = [systemCodeOf(cause), probeDescriptor()].find((one) => EXHAUSTED.has(one))
  if (code === undefined) return null
  const isOwn = code === 'EMFILE'
  const all = maxOpenFiles === null ? 'all of its' : `all ${maxOpenFiles} of its`
  return new GatewayError(
    'descriptors_exhausted',
    isOwn
      ? `the gateway cannot connect to a provider: ${all} file descriptors are in use; ask again in a moment, or have its operator raise the limit (LimitNOFILE)`
      : 'the gateway cannot connect to a provider: its machine has no file descriptor left; ask again in a moment, or have its operator raise the limit (fs.file-max)',
    {
      metadata: {
        limit: isOwn ? 'open_files' : 'open_files_of_machine',
        ...(isOwn && maxOpenFiles !== null && { limit_value: maxOpenFiles, used: maxOpenFiles }),
        resets_at: null,
      },
      retryAfterSeconds: RETRY_SECONDS,
      cause,
    },
  )
}

/** The system's error code for opening a file; empty when it succeeds. */
function probeDescriptor(): string {
  try {
    closeSync(openSync('/dev/null', 'r'))
    return ''
  } catch (thrown) {
    return systemCodeOf(thrown)
  }
}
