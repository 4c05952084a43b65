import express from 'express'
import session from 'express-session'
import passport from 'passport'
import OpenIDConnectStrategy from 'passport-openidconnect'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, PORT } = process.env
const metadata = await (await fetch(`${ISSUER}/.well-known/openid-configuration`)).json()
passport.use(
  new OpenIDConnectStrategy(
    {
      issuer: ISSUER,
      authorizationURL: metadata.authorization_endpoint,
      tokenURL: metadata.token_endpoint,
      userInfoURL: metadata.userinfo_endpoint,
      clientID: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      callbackURL: `http://localhost:${PORT}/callback`,
      scope: ['email', 'profile'],
    },
    (_issuer, profile, done) => done(null, profile),
  ),
)
passport.serializeUser((user, done) => done(null, user))
passport.deserializeUser((user, done) => done(null, user))

const app = express()
app.use(session({ secret: 'of the application', resave: false, saveUninitialized: false }))
app.use(passport.authenticate('session'))
app.get('/', (request, response, next) => {
  if (request.user === undefined)
    return passport.authenticate('openidconnect')(request, response, next)
  response.send(`Hello ${request.user.emails[0].value}`)
})
app.get('/callback', passport.authenticate('openidconnect', { successRedirect: '/' }))
app.listen(Number(PORT), 'localhost')
