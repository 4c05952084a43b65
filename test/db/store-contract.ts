/** The store's contract: the ports' real definition, run against every engine in the same words. */
import { describe, test } from 'vitest'
import { accountLimitsContract } from './contract/account-limits.ts'
import { accountsContract } from './contract/accounts.ts'
import { activityContract } from './contract/activity.ts'
import { actsContract } from './contract/acts.ts'
import { answersContract } from './contract/answers.ts'
import { auditContract } from './contract/audit.ts'
import { type Bench, type OpenStore, type ReopenStore, setBench } from './contract/bench.ts'
import { catalogueContract } from './contract/catalogue.ts'
import { correctedClockContract } from './contract/corrected-clock.ts'
import { endUsersContract } from './contract/end-users.ts'
import { eventsContract } from './contract/events.ts'
import { invitationsContract } from './contract/invitations.ts'
import { keysContract } from './contract/keys.ts'
import { ledgerContract } from './contract/ledger.ts'
import { lowBalanceContract } from './contract/low-balance.ts'
import { membershipsContract } from './contract/memberships.ts'
import { type JoinStore, nodesContract } from './contract/nodes.ts'
import { noticesContract } from './contract/notices.ts'
import { ownersContract } from './contract/owners.ts'
import { restartContract } from './contract/restart.ts'
import { retentionContract } from './contract/retention.ts'
import { servedContract } from './contract/served.ts'
import { type SigninBench, signinContract } from './contract/signin.ts'
import { spendingContract } from './contract/spending.ts'
import { tokensContract } from './contract/tokens.ts'
import { usageContract } from './contract/usage.ts'
import { windowsContract } from './contract/windows.ts'

/** An engine, as the contract runs it. */
export interface Engine {
  readonly open: OpenStore
  /** Simulates a restart; absent for an engine that dies with its process, whose tests do without. */
  readonly reopen?: ReopenStore
  /** Absent for an engine of one process. */
  readonly join?: JoinStore
  /** Whether a restart forgets what a window knows beyond the log: which requests a clock that was set back has placed elsewhere. */
  readonly forgetsSteps?: boolean
}

export function storeContract(name: string, engine: Engine): void {
  const { open, reopen, join, forgetsSteps = true } = engine
  describe(name, () => {
    const bench = setBench(open, reopen, forgetsSteps)
    describe('accounts', () => accountsContract(bench))
    describe('limits of accounts', () => accountLimitsContract(bench))
    describe('keys', () => keysContract(bench))
    describe('windows', () => windowsContract(bench))
    describe('tokens', () => tokensContract(bench))
    describe('spending', () => spendingContract(bench))
    describe('owners', () => ownersContract(bench))
    describe('end users', () => endUsersContract(bench))
    describe('a corrected clock', () => correctedClockContract(bench))
    describe('ledger', () => ledgerContract(bench))
    describe('audit', () => auditContract(bench))
    describe('low balance', () => lowBalanceContract(bench))
    describe('notices', () => noticesContract(bench))
    describe('events', () => eventsContract(bench))
    describe('catalogue', () => catalogueContract(bench))
    describe('acts', () => actsContract(bench))
    describe('activity', () => activityContract(bench))
    describe('usage', () => usageContract(bench))
    describe('what a provider served', () => servedContract(bench))
    describe('answers', () => answersContract(bench))
    describe('retention', () => retentionContract(bench))
    describe('memberships', () => membershipsContract(bench))
    describe('invitations', () => invitationsContract(bench))
    describe('sign-in', () => signinContract(signinOf(bench)))
    if (reopen) describe('after a restart', () => restartContract(bench))
    if (join) describe('two nodes', () => nodesContract(bench, join))
    else test.skip('two nodes: the engine is for one process, so it has one handle')
  })
}

const signinOf = (bench: Bench): SigninBench => ({
  get signin() {
    return bench.store.signin
  },
  get clock() {
    return bench.clock
  },
})
