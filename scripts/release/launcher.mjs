#!/usr/bin/env node
// Starts the gatewayctl of this platform, which npm has installed beside this package.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'

const { platform, arch, report } = process
const target = `${platform}-${arch}`
const require = createRequire(import.meta.url)

/** @param {string} name */
function find(name) {
  try {
    return require.resolve(`@gatewayctl/${name}/gatewayctl`)
  } catch {
    return undefined
  }
}

const [glibc, musl] = [find(target), find(`${target}-musl`)]
const binary = glibc && musl ? (usesGlibc() ? glibc : musl) : (glibc ?? musl)

if (binary === undefined) {
  const lines = [
    `error: the package @gatewayctl/${target} is not installed`,
    'hint: it comes with gatewayctl unless npm is told --omit=optional, or the platform has none: Linux and macOS on x64 and arm64 do',
  ]
  process.stderr.write(`${lines.join('\n')}\n`)
  process.exitCode = 1
} else {
  run(binary)
}

/** Only some package managers know which C library a package is for; others install both. */
function usesGlibc() {
  report.excludeNetwork = true
  return report.getReport().header.glibcVersionRuntime !== undefined
}

/** @param {string} program */
function run(program) {
  const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' })
  child.on('error', (cause) => {
    process.stderr.write(`error: ${program} does not start: ${cause.message}\n`)
    process.exitCode = 1
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // A terminal tells the child too, and told twice it would not drain.
      if (signal === 'SIGTERM' || !process.stdin.isTTY) child.kill(signal)
    })
  }
  child.on('exit', (code, signal) => {
    if (signal === null) {
      process.exitCode = code ?? 1
      return
    }
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}
