/** A certificate of `localhost`, for the mock by TLS and for those who are to trust it. */
import { fileURLToPath } from 'node:url'

const FILES = new URL('../../test/upstream/http1/fixtures/', import.meta.url)
const CERTIFICATE = new URL('localhost-cert.pem', FILES)

export const readCertificate = async () => ({
  cert: await Bun.file(CERTIFICATE).text(),
  key: await Bun.file(new URL('localhost-key.pem', FILES)).text(),
})

/** In the environment of who is to trust it. */
export const TRUSTING = { NODE_EXTRA_CA_CERTS: fileURLToPath(CERTIFICATE) }
