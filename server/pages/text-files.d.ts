declare module '*.css' {
  const text: string
  export = text
}
declare module '*/ask-passkey.js' {
  const text: string
  export = text
}
