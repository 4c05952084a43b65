/** The cabinet's two cookies: of the session, and of a sign-in that has begun. `__Host-` binds them to this host where it is https. */

export interface Cookies {
  read(request: Request): string | null
  /** The `Set-Cookie` of a value; `seconds` absent: until the browser ends. */
  set(value: string, seconds?: number): string
  clear(): string
}

const VALUE = /^[\w.~-]{1,2000}$/

export function openCookie(name: string, issuer: string): Cookies {
  const isSecure = issuer.startsWith('https:')
  const full = isSecure ? `__Host-${name}` : name
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  const pattern = new RegExp(`(?:^|;) *${full}=([^;]*)`)
  return {
    read({ headers }) {
      const value = pattern.exec(headers.get('cookie') ?? '')?.[1]
      return value !== undefined && VALUE.test(value) ? value : null
    },
    set: (value, seconds) =>
      `${full}=${value}; ${attributes}${seconds === undefined ? '' : `; Max-Age=${seconds}`}`,
    clear: () => `${full}=; ${attributes}; Max-Age=0`,
  }
}
