import { createServer } from 'node:http'
import { ConfidentialClientApplication, CryptoProvider } from '@azure/msal-node'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, PORT } = process.env
const redirectUri = `http://localhost:${PORT}/callback`
const client = new ConfidentialClientApplication({
  auth: {
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    authority: ISSUER,
    knownAuthorities: [new URL(ISSUER).host],
  },
  system: { protocolMode: 'OIDC' },
})
const scopes = ['openid', 'email']
const waiting = new Map()

createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, redirectUri)
  if (pathname !== '/callback') {
    const state = crypto.randomUUID()
    const { verifier, challenge } = await new CryptoProvider().generatePkceCodes()
    waiting.set(state, verifier)
    const location = await client.getAuthCodeUrl({
      scopes,
      redirectUri,
      state,
      codeChallenge: challenge,
      codeChallengeMethod: 'S256',
    })
    return response.writeHead(302, { location }).end()
  }
  const { idTokenClaims } = await client.acquireTokenByCode({
    scopes,
    redirectUri,
    code: searchParams.get('code'),
    codeVerifier: waiting.get(searchParams.get('state')),
  })
  response.end(`Hello ${idTokenClaims.email}`)
}).listen(Number(PORT), 'localhost')
