/** Of fields that may be absent, those that somebody stated. */

/** Without those that are null or undefined: a filter that is not set. */
export const statedIn = <Fields extends object>(fields: Fields): StatedFields<Fields> =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  ) as StatedFields<Fields>

type StatedFields<Fields> = { [Name in keyof Fields]?: NonNullable<Fields[Name]> }

/** Without those that are undefined: a change of a field that stays. Null removes what there is. */
export const definedIn = <Fields extends object>(fields: Fields): DefinedFields<Fields> =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as DefinedFields<Fields>

type DefinedFields<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }
