/** The version, as the build stamped it; a run from sources says so. */
declare const GATEWAY_VERSION: string

export const VERSION: string = typeof GATEWAY_VERSION === 'string' ? GATEWAY_VERSION : '0.0.0-dev'
