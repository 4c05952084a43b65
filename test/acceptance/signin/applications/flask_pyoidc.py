import os

import flask
from flask_pyoidc import OIDCAuthentication
from flask_pyoidc.provider_configuration import ClientMetadata, ProviderConfiguration
from flask_pyoidc.user_session import UserSession

home = f"http://localhost:{os.environ['PORT']}"
app = flask.Flask(__name__)
app.config.update(OIDC_REDIRECT_URI=home + "/callback", SECRET_KEY=os.urandom(32))
auth = OIDCAuthentication(
    {
        "gateway": ProviderConfiguration(
            issuer=os.environ["ISSUER"],
            client_metadata=ClientMetadata(os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"]),
            auth_request_params={"scope": ["openid", "email", "profile"]},
        )
    },
    app,
)


@app.route("/")
@auth.oidc_auth("gateway")
def hello():
    return f"Hello {UserSession(flask.session).userinfo['email']}"


app.run(host="localhost", port=int(os.environ["PORT"]))
