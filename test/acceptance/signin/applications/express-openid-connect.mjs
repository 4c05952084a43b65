import express from 'express'
import { auth, requiresAuth } from 'express-openid-connect'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, PORT } = process.env
const app = express()
app.use(
  auth({
    issuerBaseURL: ISSUER,
    baseURL: `http://localhost:${PORT}`,
    clientID: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    secret: 'a long secret of the application itself',
    authRequired: false,
    authorizationParams: { response_type: 'code', scope: 'openid email profile' },
  }),
)
app.get('/', requiresAuth(), (request, response) => {
  response.send(`Hello ${request.oidc.user.email}`)
})
app.listen(Number(PORT), 'localhost')
