/** The entry point: prints the version, serves for another process, or loads the rest of the program. */

declare const GATEWAY_VERSION: string

// Files of this process are readable only by their owner.
process.umask(0o077)

const args = process.argv.slice(2)
const [first] = args

if (args.length === 1 && (first === '--version' || first === '-V')) {
  console.log(GATEWAY_VERSION)
} else if (process.env['GATEWAYCTL_KEEPER']) {
  const { runAsProcess } = await import('./serve/processes.ts')
  await runAsProcess(process.env['GATEWAYCTL_KEEPER'])
} else {
  const { runProgram } = await import('./program.ts')
  await runProgram(args)
}
