import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { AuthorizationCode } from 'simple-oauth2'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, PORT } = process.env
const metadata = await (await fetch(`${ISSUER}/.well-known/openid-configuration`)).json()
const client = new AuthorizationCode({
  client: { id: CLIENT_ID, secret: CLIENT_SECRET },
  auth: {
    tokenHost: ISSUER,
    tokenPath: new URL(metadata.token_endpoint).pathname,
    authorizePath: new URL(metadata.authorization_endpoint).pathname,
  },
})
const redirect_uri = `http://localhost:${PORT}/callback`
const states = new Set()

createServer(async (request, response) => {
  const url = new URL(request.url, redirect_uri)
  if (url.pathname !== '/callback') {
    const state = randomBytes(16).toString('hex')
    states.add(state)
    const location = client.authorizeURL({ redirect_uri, scope: 'openid email', state })
    return response.writeHead(302, { location }).end()
  }
  if (!states.delete(url.searchParams.get('state'))) return response.writeHead(400).end()
  const { token } = await client.getToken({ code: url.searchParams.get('code'), redirect_uri })
  const headers = { authorization: `Bearer ${token.access_token}` }
  const person = await (await fetch(metadata.userinfo_endpoint, { headers })).json()
  response.end(`Hello ${person.email}`)
}).listen(Number(PORT), 'localhost')
