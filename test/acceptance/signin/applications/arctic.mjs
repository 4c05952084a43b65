import { createServer } from 'node:http'
import { CodeChallengeMethod, generateCodeVerifier, generateState, OAuth2Client } from 'arctic'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, PORT } = process.env
const metadata = await (await fetch(`${ISSUER}/.well-known/openid-configuration`)).json()
const home = `http://localhost:${PORT}`
const client = new OAuth2Client(CLIENT_ID, CLIENT_SECRET, `${home}/callback`)
const waiting = new Map()

createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, home)
  if (pathname !== '/callback') {
    const [state, verifier] = [generateState(), generateCodeVerifier()]
    waiting.set(state, verifier)
    const location = client.createAuthorizationURLWithPKCE(
      metadata.authorization_endpoint,
      state,
      CodeChallengeMethod.S256,
      verifier,
      ['openid', 'email'],
    )
    return response.writeHead(302, { location: location.href }).end()
  }
  const tokens = await client.validateAuthorizationCode(
    metadata.token_endpoint,
    searchParams.get('code'),
    waiting.get(searchParams.get('state')),
  )
  const headers = { authorization: `Bearer ${tokens.accessToken()}` }
  const person = await (await fetch(metadata.userinfo_endpoint, { headers })).json()
  response.end(`Hello ${person.email}`)
}).listen(Number(PORT), 'localhost')
