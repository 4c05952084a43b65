/** The store: every port of the domain in one object, opened by the command line and closed once. */
import type { Accounts } from './account.ts'
import type { Acts } from './act.ts'
import type { Activity } from './activity.ts'
import type { Admissions } from './admission.ts'
import type { Audit } from './audit.ts'
import type { Answers } from './idempotency.ts'
import type { Keys } from './key.ts'
import type { Ledger } from './ledger.ts'
import type { Thresholds } from './low-balance.ts'
import type { ModelCards } from './model-card.ts'
import type { Notices } from './notice.ts'
import type { Providers } from './provider.ts'
import type { Rates } from './rate.ts'

/**
 * What keeps an engine from writing: no room (or too little to begin anything), no permission, a damaged file, another
 * program that has it, or a disk that fails otherwise.
 */
export type StoreTrouble = 'full' | 'read_only' | 'damaged' | 'locked' | 'failing'

/** A part of the schema that is not as the engine made it. */
export interface SchemaFinding {
  /** `trigger acts_are_append_only_update of acts`. */
  readonly what: string
  readonly is: 'missing' | 'changed' | 'added'
}

/** What an engine says about itself. */
export interface StoreHealth {
  /** Whether requests may be begun, as far as the disk is concerned. */
  readonly writable: boolean
  /** Why not; null while they may. */
  readonly trouble: StoreTrouble | null
  readonly schemaVersion: number
  readonly newestSchemaVersion: number
  /** Admissions not yet resolved. */
  readonly openHolds: number
  /** Findings of the engine's own integrity check, empty when it is sound; null when it was not asked for. */
  readonly integrityFindings: readonly string[] | null
  /** How the schema differs from what the engine makes of that version; null when it was not asked for. */
  readonly schemaFindings: readonly SchemaFinding[] | null
  readonly sizeBytes: number
}

/** Every port of it throws `store_unavailable` where the disk does not take a write, or does not give what is to be read. */
export interface Store {
  readonly accounts: Accounts
  readonly keys: Keys
  readonly admissions: Admissions
  readonly ledger: Ledger
  readonly thresholds: Thresholds
  readonly notices: Notices
  readonly models: ModelCards
  readonly providers: Providers
  readonly rates: Rates
  readonly activity: Activity
  readonly acts: Acts
  readonly answers: Answers
  /** Adds every kept sum up again from the ledger, at one moment. @throws store_unavailable */
  audit(): Promise<Audit>
  health(options: { readonly checkIntegrity: boolean }): Promise<StoreHealth>
  /** Commits what is pending and releases the data directory. */
  close(): Promise<void>
}
