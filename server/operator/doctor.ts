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

const CHECKS: readonly Check[] = [
  checkProgram,
  checkAddresses,
  checkStore,
  checkServer,
  checkLedger,
  checkHolds,
  checkLog,
  checkFiles,
  checkDisk,
  checkClock,
  checkBackup,
  checkRate,
  checkProviders,
  checkPrices,
  checkRoutes,
  checkCredentials,
  checkMasks,
  checkClaudeCode,
  checkCeilings,
  checkLimits,
  checkThresholds,
  checkCodes,
  checkSignup,
  checkClients,
  checkAccess,
  checkCabinet,
  checkIdentities,
  checkPasskeys,
  checkBrand,
  checkProcesses,
  checkDescriptors,
]

/** A check that throws becomes a finding, so that the others still run. */
const checkFailed = (thrown: unknown): readonly Finding[] => [
  problem(
    'check_failed',
    `a check could not run: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
  ),
]

export const examine = verb(z.strictObject({}), async (deps) => {
  const findings: Finding[] = []
  for (const check of CHECKS) findings.push(...(await check(deps).catch(checkFailed)))
  const count = (level: Finding['level']) =>
    findings.filter((finding) => finding.level === level).length
  return { findings, warnings: count('warning'), problems: count('problem') }
})
