/** The entry point: prints the version at once, and loads the rest of the program for anything else. */

declare const GATEWAY_VERSION: string

// Whatever this process writes is for its owner alone.
process.umask(0o077)

const args = process.argv.slice(2)
const [first] = args

if (args.length === 1 && (first === '--version' || first === '-V')) {
  console.log(GATEWAY_VERSION)
} else {
  const { runProgram } = await import('./program.ts')
  await runProgram(args)
}
