/** The path of a field in a body, as `param` of a refusal names it (contract §3). */

/** `["messages", 2, "role"]` → `messages[2].role` */
export const renderPath = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, step) =>
      typeof step === 'number' ? `${text}[${step}]` : `${text}${text && '.'}${String(step)}`,
    '',
  )
