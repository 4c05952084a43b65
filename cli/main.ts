// The front door: nothing but the version until the commands move in.
declare const GATEWAY_VERSION: string

// Not process.stdout: its first use alone costs some 8 ms of a start that takes 4.
await Bun.write(Bun.stdout, `${GATEWAY_VERSION}\n`)
