import express from 'express'
import session from 'express-session'
import grant from 'grant'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, PORT } = process.env
const metadata = await (await fetch(`${ISSUER}/.well-known/openid-configuration`)).json()
const app = express()
app.use(session({ secret: 'of the application', resave: false, saveUninitialized: true }))
app.use(
  grant.express({
    defaults: {
      origin: `http://localhost:${PORT}`,
      transport: 'session',
      state: true,
      nonce: true,
      pkce: true,
    },
    gateway: {
      authorize_url: metadata.authorization_endpoint,
      access_url: metadata.token_endpoint,
      profile_url: metadata.userinfo_endpoint,
      oauth: 2,
      key: CLIENT_ID,
      secret: CLIENT_SECRET,
      scope: ['openid', 'email', 'profile'],
      scope_delimiter: ' ',
      response: ['tokens', 'profile'],
      callback: '/hello',
    },
  }),
)
app.get('/', (_request, response) => response.redirect('/connect/gateway'))
app.get('/hello', (request, response) => {
  response.send(`Hello ${request.session.grant.response.profile?.email}`)
})
app.listen(Number(PORT), 'localhost')
