/** When the certificates of providers end, as the latest connection to each showed it. */
import type { X509Certificate } from 'node:crypto'
import { type Instant, readCertificateDate } from '#domain/clock.ts'

const ends = new Map<string, Instant>()

/** A certificate that is not trusted is noted too: it may be one that has ended. */
export function noteCertificate(host: string, certificate: X509Certificate | undefined): void {
  const end = readCertificateDate(certificate?.validTo ?? '')
  if (end !== undefined) ends.set(host, end)
}

/** By host. */
export const certificateEnds = (): ReadonlyMap<string, Instant> => ends
