// The front door: nothing but the version until the commands move in.
declare const GATEWAY_VERSION: string

process.stdout.write(`${GATEWAY_VERSION}\n`)
