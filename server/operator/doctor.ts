/** Doctor: runs every check of an installation; each finding has the command to type next. */
import * as z from 'zod/mini'
import type { OperatorDeps } from './deps.ts'
import { checkBackup } from './doctor/backup.ts'
import { checkCeilings, checkClaudeCode } from './doctor/claude-code.ts'
import { checkFiles } from './doctor/files.ts'
import { type Finding, problem } from './doctor/finding.ts'
import { checkAddresses, checkClock, checkDisk, checkProgram } from './doctor/host.ts'
import { checkLimits } from './doctor/limits.ts'
import {
  checkCredentials,
  checkMasks,
  checkPrices,
  checkProviders,
  checkRate,
  checkRoutes,
} from './doctor/models.ts'
import { checkThresholds } from './doctor/notices.ts'
import { checkDescriptors, checkProcesses } from './doctor/process.ts'
import { checkServer } from './doctor/server.ts'
import {
  checkAccess,
  checkBrand,
  checkCabinet,
  checkClients,
  checkCodes,
  checkIdentities,
  checkPasskeys,
  checkSignup,
} from './doctor/signin.ts'
import { checkHolds, checkLedger, checkLog, checkStore } from './doctor/store.ts'
import { verb } from './verb.ts'

type Check = (deps: OperatorDeps) => Promise<readonly Finding[]>

/** By what each looks at. */
const CHECKS: Readonly<Record<string, Check>> = {
  program: checkProgram,
  addresses: checkAddresses,
  store: checkStore,
  server: checkServer,
  ledger: checkLedger,
  holds: checkHolds,
  log: checkLog,
  files: checkFiles,
  disk: checkDisk,
  clock: checkClock,
  backup: checkBackup,
  rate: checkRate,
  providers: checkProviders,
  prices: checkPrices,
  routes: checkRoutes,
  credentials: checkCredentials,
  masks: checkMasks,
  'claude code': checkClaudeCode,
  ceilings: checkCeilings,
  limits: checkLimits,
  thresholds: checkThresholds,
  codes: checkCodes,
  signup: checkSignup,
  clients: checkClients,
  access: checkAccess,
  cabinet: checkCabinet,
  identities: checkIdentities,
  passkeys: checkPasskeys,
  brand: checkBrand,
  processes: checkProcesses,
  descriptors: checkDescriptors,
}

/** A check that throws becomes a finding, so that the others still run. */
const checkFailed = (what: string, thrown: unknown): readonly Finding[] => [
  problem(
    'check_failed',
    `the check of ${what} could not run: ${thrown instanceof Error ? thrown.message : String(thrown)}; if it stays so, report it as a bug`,
    'gatewayctl doctor',
  ),
]

export const examine = verb(z.strictObject({}), async (deps) => {
  const findings: Finding[] = []
  for (const [what, check] of Object.entries(CHECKS)) {
    findings.push(...(await check(deps).catch((thrown) => checkFailed(what, thrown))))
  }
  const count = (level: Finding['level']) =>
    findings.filter((finding) => finding.level === level).length
  return { findings, warnings: count('warning'), problems: count('problem') }
})
