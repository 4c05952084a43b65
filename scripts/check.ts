// All checks: format, lint, types, dead code. Every check runs before the result.
const gates = [
  { name: 'style', command: ['biome', 'check', '--error-on-warnings', '.'] },
  { name: 'types', command: ['tsc', '--pretty', 'false'] },
  { name: 'knip', command: ['knip', '--no-progress'] },
] as const

const verdicts = await Promise.all(
  gates.map(async ({ name, command }) => {
    const gate = Bun.spawn(['bun', 'x', '--bun', '--no-install', ...command], {
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [out, err] = await Promise.all([gate.stdout.text(), gate.stderr.text()])
    return { name, passed: (await gate.exited) === 0, text: out + err }
  }),
)

for (const { name, passed, text } of verdicts) {
  if (!passed) process.stdout.write(`── ${name}\n${text}\n`)
}
for (const { name, passed } of verdicts) {
  process.stdout.write(`${passed ? '✓' : '✖'} ${name}\n`)
}
process.exitCode = verdicts.every(({ passed }) => passed) ? 0 : 1
