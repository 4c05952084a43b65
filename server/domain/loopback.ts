/** Whether a host is a loopback address, where plain HTTP cannot be intercepted. */

const LOOPBACK = /^(?:localhost|(?:::ffff:)?127(?:\.\d{1,3}){3}|::1|\[::1\])$/

/** Accepts a host as written in a URL, a setting or a socket address; `127.example.com` is not loopback. */
export const isLoopbackHost = (host: string): boolean => LOOPBACK.test(host)
