/** The limit of file descriptors, as Linux states it in `/proc/self/limits`. */

/** The soft limit of one process; null where `limits` states no number. */
export function openFilesLimit(limits: string): number | null {
  const [, stated] = /^Max open files\s+(\d+)/m.exec(limits) ?? []
  return stated === undefined ? null : Number(stated)
}
