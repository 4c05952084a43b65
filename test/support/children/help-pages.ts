/** Runs each command line of its argument, which all ask for help, and tells the exit code of each behind what it printed. */
import { runProgram } from '#cli/program.ts'

for (const line of JSON.parse(process.argv[2] ?? '[]') as string[][]) {
  process.exitCode = 0
  await runProgram(line)
  process.stdout.write(`\0${process.exitCode}\0`)
}
process.exitCode = 0
