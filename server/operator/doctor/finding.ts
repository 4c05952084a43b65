/** What a check of `doctor` found, and what to type next. */

/** `ok` is a pass, `warning` is worth a look, `problem` makes the installation unhealthy. */
export interface Finding {
  readonly check: string
  readonly level: 'ok' | 'warning' | 'problem'
  readonly message: string
  /** What to type next; null where nothing is to be done. */
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
