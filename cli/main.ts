/** The entry point: prints the version, or loads the rest of the program. */

declare const GATEWAY_VERSION: string

// Files of this process are readable only by their owner.
process.umask(0o077)

const args = process.argv.slice(2)
const [first] = args

if (args.length === 1 && (first === '--version' || first === '-V')) {
  console.log(GATEWAY_VERSION)
} else {
  const { runProgram } = await import('./program.ts')
  await runProgram(args)
}
