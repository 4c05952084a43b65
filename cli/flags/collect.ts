/** A flag that may be repeated. */
export const collect = (one: string, all: readonly string[] = []): readonly string[] => [
  ...all,
  one,
]
