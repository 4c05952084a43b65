/** Money as integers of a database. The domain stays within 53 bits; a larger value is a defect and throws. */

export function toInteger(amount: bigint): number {
  const number = Number(amount)
  if (!Number.isSafeInteger(number)) throw new RangeError(`amount out of bounds: ${amount}`)
  return number
}

export const fromInteger = <Amount extends bigint>(stored: number): Amount =>
  BigInt(stored) as Amount
