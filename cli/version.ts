/** The version, set by the build; `-dev` when run from sources. */
declare const GATEWAY_VERSION: string

export const VERSION: string = typeof GATEWAY_VERSION === 'string' ? GATEWAY_VERSION : '0.0.0-dev'
