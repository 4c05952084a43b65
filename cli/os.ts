/** `node:os` for whoever asks: to load it takes a hundredth of a short command, which needs none of it. */
export const os = (): typeof import('node:os') => process.getBuiltinModule('node:os')
