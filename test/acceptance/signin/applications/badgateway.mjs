import { createServer } from 'node:http'
import { generateCodeVerifier, OAuth2Client } from '@badgateway/oauth2-client'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, PORT } = process.env
const home = `http://localhost:${PORT}`
const redirectUri = `${home}/callback`
const client = new OAuth2Client({
  server: ISSUER,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  discoveryEndpoint: '/.well-known/openid-configuration',
})
const waiting = new Map()

createServer(async (request, response) => {
  const url = new URL(request.url, home)
  if (url.pathname !== '/callback') {
    const [state, codeVerifier] = [crypto.randomUUID(), await generateCodeVerifier()]
    waiting.set(state, codeVerifier)
    const scope = ['openid', 'email']
    const location = await client.authorizationCode.getAuthorizeUri({
      redirectUri,
      state,
      codeVerifier,
      scope,
    })
    return response.writeHead(302, { location }).end()
  }
  const state = url.searchParams.get('state')
  const codeVerifier = waiting.get(state)
  const tokens = await client.authorizationCode.getTokenFromCodeRedirect(url, {
    redirectUri,
    state,
    codeVerifier,
  })
  const headers = { authorization: `Bearer ${tokens.accessToken}` }
  const person = await (await fetch(`${ISSUER}/oauth/userinfo`, { headers })).json()
  response.end(`Hello ${person.email}`)
}).listen(Number(PORT), 'localhost')
