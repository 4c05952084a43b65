/** The keys that the soak asks with: one that nobody touches, and those that an operator makes, changes and ends meanwhile. */

export interface SoakKey {
  readonly id: string
  /** Since when the newest secret works alone or beside the one before it. */
  secret: string
  /** Nothing was ever changed of it, and no limit is near. */
  readonly isWide: boolean
  /** When an operator was told that it is revoked, by `performance.now()`. */
  revokedMs: number | null
  /** Whether any command that might keep it from being served was ever begun. */
  isTouched: boolean
}

/** What the command line printed of a new key or a new secret. */
export interface PrintedKey {
  readonly id: string
  readonly key: string
}

export const toKey = ({ id, key }: PrintedKey, isWide: boolean): SoakKey => ({
  id,
  secret: key,
  isWide,
  revokedMs: null,
  isTouched: false,
})
