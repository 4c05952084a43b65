/** Money as SQLite keeps it: an integer; the domain stays within 53 bits, and a value beyond them is a defect to stop at. */

export function toInteger(amount: bigint): number {
  const number = Number(amount)
  if (!Number.isSafeInteger(number)) throw new RangeError(`amount out of bounds: ${amount}`)
  return number
}

export const fromInteger = <Amount extends bigint>(stored: number): Amount =>
  BigInt(stored) as Amount
