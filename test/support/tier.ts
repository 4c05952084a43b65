/** `npm test` shows each proof at its smallest size; `npm run test:all` shows everything at full size. */
export const FULL = process.env['MODE'] === 'full'
