/** Starts Bun's fetch thread while file descriptors are still available. */

/** Not a socket on any machine, so the request fails locally. */
const NOWHERE = '/dev/null'

/**
 * Bun starts this thread with the first fetch (webhooks, identity providers). Starting it when no
 * descriptor is left crashes the process, and any client can use up descriptors.
 */
export const startFetch = (): Promise<void> =>
  fetch('http://nowhere/', { unix: NOWHERE }).then(
    () => {},
    () => {},
  )
