// Runs a program to its end and returns its output; an error has its standard error.
export async function run(
  command: readonly string[],
  options: { readonly cwd?: string } = {},
): Promise<string> {
  const child = Bun.spawn([...command], {
    ...options,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err, code] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ])
  if (code === 0) return out
  throw new Error(`${command.join(' ')} exited ${code}\n${err.trim()}`)
}
