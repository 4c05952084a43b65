/** The result of a check of `doctor`. */

/** A `problem` makes the installation unhealthy. */
export interface Finding {
  readonly check: string
  readonly level: 'ok' | 'warning' | 'problem'
  readonly message: string
  /** The command to type next; null when there is nothing to do. */
  readonly next: string | null
}

export const ok = (check: string, message: string): Finding => finding(check, 'ok', message, null)

export const warning = (check: string, message: string, next: string): Finding =>
  finding(check, 'warning', message, next)

export const problem = (check: string, message: string, next: string | null = null): Finding =>
  finding(check, 'problem', message, next)

const finding = (
  check: string,
  level: Finding['level'],
  message: string,
  next: string | null,
): Finding => ({ check, level, message, next })
