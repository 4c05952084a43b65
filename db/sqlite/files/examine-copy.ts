/** Examines a copy down to its last row, read-only and without opening it as a store. */
import { Database } from 'bun:sqlite'
import { GatewayError } from '#domain/errors.ts'
import { NEWEST_SCHEMA_VERSION, newerSchema, schemaVersion } from '../engine/schema-version.ts'
import { auditSums } from '../money/audit.ts'
import { hasTable } from './copy.ts'
import { integrityFindings } from './integrity.ts'

export interface CopyFacts {
  readonly schemaVersion: number
  /** Empty when every page, index and reference is sound. */
  readonly integrityFindings: readonly string[]
  /** Lines of the ledger, and how many sums differ from it; null of an older schema, which is added up once it is migrated. */
  readonly audit: { readonly entries: number; readonly found: number } | null
}

/** @throws store_unavailable when it cannot be read, is no database of a gateway, or one of a newer schema than is known */
export async function examineCopy(file: string): Promise<CopyFacts> {
  const copy = open(file)
  try {
    const version = requireGatewayDatabase(copy, file)
    const findings = integrityFindings(copy)
    if (findings.length > 0 || version < NEWEST_SCHEMA_VERSION) {
      return { schemaVersion: version, integrityFindings: findings, audit: null }
    }
    copy.run('PRAGMA temp_store = FILE')
    const { entries, found } = await auditSums(copy)
    return { schemaVersion: version, integrityFindings: findings, audit: { entries, found } }
  } catch (cause) {
    throw cause instanceof GatewayError ? cause : damaged(file, cause)
  } finally {
    copy.close(true)
  }
}

/** Reads its header only. @throws as `examineCopy` */
export function readCopyHeader(file: string): { readonly schemaVersion: number } {
  const copy = open(file)
  try {
    return { schemaVersion: requireGatewayDatabase(copy, file) }
  } finally {
    copy.close(true)
  }
}

function open(file: string): Database {
  try {
    return new Database(file, { readonly: true, strict: true })
  } catch (cause) {
    throw notGatewayDatabase(file, cause)
  }
}

function requireGatewayDatabase(copy: Database, file: string): number {
  let version: number
  try {
    version = schemaVersion(copy)
    if (!['accounts', 'keys', 'ledger'].every((table) => hasTable(copy, table)))
      throw notGatewayDatabase(file)
  } catch (cause) {
    throw cause instanceof GatewayError ? cause : notGatewayDatabase(file, cause)
  }
  if (version > NEWEST_SCHEMA_VERSION) throw newerSchema(copy)
  return version
}

const notGatewayDatabase = (file: string, cause?: unknown): GatewayError =>
  new GatewayError('store_unavailable', `${file} is no database of a gateway`, { cause })

const damaged = (file: string, cause: unknown): GatewayError =>
  new GatewayError('store_unavailable', `${file} is damaged`, { cause })
