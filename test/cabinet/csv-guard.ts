/** What an end user may call themselves, and the cell that a spreadsheet gets. */
export const CSV_GUARD: readonly (readonly [user: string, cell: string])[] = [
  ['=1+1', `,'=1+1,`],
  ['+cmd', `,'+cmd,`],
  ['-cmd', `,'-cmd,`],
  ['@sum', `,'@sum,`],
  ['-5.00', `,'-5.00,`],
  ['a,"b"', `,"a,""b""",`],
]
