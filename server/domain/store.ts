/** The store: all ports of the domain in one object, opened and closed by the command line. */
import type { Accounts } from './account.ts'
import type { Acts } from './act.ts'
import type { Activity } from './activity.ts'
import type { Admissions, OpenAdmission } from './admission.ts'
import type { Audit } from './audit.ts'
import type { Catalogues, Providers } from './catalogue.ts'
import type { StoreTrouble } from './errors.ts'
import type { Events } from './event.ts'
import type { Answers } from './idempotency.ts'
import type { Keys } from './key.ts'
import type { Ledger } from './ledger.ts'
import type { Thresholds } from './low-balance.ts'
import type { ModelCards } from './model-card.ts'
import type { Nodes } from './node.ts'
import type { Notices } from './notice.ts'
import type { NoticeSettingsStore } from './notice-settings.ts'
import type { Owner } from './owner.ts'
import type { Rates } from './rate.ts'
import type { SteadyTime } from './steady-clock.ts'

/** A difference between the schema and the one that the engine creates. */
export interface SchemaFinding {
  /** `trigger acts_are_append_only_update of acts`. */
  readonly what: string
  readonly is: 'missing' | 'changed' | 'added'
}

export interface StoreHealth {
  /** Whether new requests can be accepted, as far as the disk is concerned. */
  readonly writable: boolean
  /** Why not; null if they can. */
  readonly trouble: StoreTrouble | null
  readonly schemaVersion: number
  readonly newestSchemaVersion: number
  /** Whether a master key was given, without which no credential and no secret can be read. */
  readonly hasMasterKey: boolean
  /** Admissions not yet resolved. */
  readonly openHolds: number
  /** Findings of the engine's integrity check, empty if there are none; null if the check was not requested. */
  readonly integrityFindings: readonly string[] | null
  /** Differences from the schema of that version; null if the check was not requested. */
  readonly schemaFindings: readonly SchemaFinding[] | null
  readonly sizeBytes: number
}

/** Every port throws `store_unavailable` if the disk fails a write or a read. */
export interface Store {
  /** Who opened it. */
  readonly owner: Owner
  readonly accounts: Accounts
  readonly keys: Keys
  readonly admissions: Admissions
  readonly ledger: Ledger
  readonly thresholds: Thresholds
  readonly notices: Notices
  readonly events: Events
  readonly noticeSettings: NoticeSettingsStore
  readonly catalogue: Catalogues
  readonly models: ModelCards
  readonly providers: Providers
  readonly rates: Rates
  readonly activity: Activity
  readonly acts: Acts
  readonly answers: Answers
  readonly steadyTime: SteadyTime
  /** Absent where one process has the store. */
  readonly nodes?: Nodes
  /** Recomputes every stored sum from the ledger, in one snapshot. @throws store_unavailable */
  audit(): Promise<Audit>
  health(options: { readonly checkIntegrity: boolean }): Promise<StoreHealth>
  /** Commits what is pending and releases the data directory. */
  close(): Promise<void>
  /**
   * The same, once nobody calls any more: what is still held is for whoever opens it next, and knows who holds it. Absent where
   * several have it open. @throws store_unavailable, and is open still, while the disk takes no writes
   */
  handOver?(): Promise<readonly OpenAdmission[]>
}
