/** What a body in pieces says. */
export const said = (body: string | readonly string[]): string =>
  typeof body === 'string' ? body : body.join('')
