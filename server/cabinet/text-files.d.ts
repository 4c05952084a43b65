declare module '*.min.js' {
  const text: string
  export = text
}
declare module '*/cabinet.js' {
  const text: string
  export = text
}
