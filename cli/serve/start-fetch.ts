/** Starts the thread that fetches, while there are descriptors to start it with. */

/** Nobody answers there, on any machine; nothing leaves it. */
const NOWHERE = '/dev/null'

/**
 * The runtime starts that thread with the first fetch: webhooks, pictures, a proxy, third parties. One that is to start when no
 * descriptor is left ends the process, and any stranger can hold descriptors.
 */
export const startFetch = (): Promise<void> =>
  fetch('http://nowhere/', { unix: NOWHERE }).then(
    () => {},
    () => {},
  )
