declare module '*.bash' {
  const text: string
  export = text
}
declare module '*.zsh' {
  const text: string
  export = text
}
declare module '*.fish' {
  const text: string
  export = text
}
declare module '*.ps1' {
  const text: string
  export = text
}
