/** Whether a host is this very machine: what is said there in clear text nobody else hears. */

const LOOPBACK = /^(?:localhost|(?:::ffff:)?127(?:\.\d{1,3}){3}|::1|\[::1\])$/

/** Of a host as a URL, a setting or a socket writes it; a name that only begins like one (`127.example.com`) is none. */
export const isLoopbackHost = (host: string): boolean => LOOPBACK.test(host)
