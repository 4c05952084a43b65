import os

import requests
from flask import Flask, redirect, request, session
from requests_oauthlib import OAuth2Session

os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"  # its own address is http, on this machine
home = f"http://localhost:{os.environ['PORT']}"
metadata = requests.get(os.environ["ISSUER"] + "/.well-known/openid-configuration").json()
app = Flask(__name__)
app.secret_key = os.urandom(32)


def client(**more):
    return OAuth2Session(
        os.environ["CLIENT_ID"],
        redirect_uri=home + "/callback",
        scope=["openid", "email", "profile"],
        pkce="S256",
        **more,
    )


@app.get("/")
def leave():
    oauth = client()
    address, session["state"] = oauth.authorization_url(metadata["authorization_endpoint"])
    session["verifier"] = oauth._code_verifier
    return redirect(address)


@app.get("/callback")
def come_back():
    oauth = client(state=session["state"])
    oauth._code_verifier = session["verifier"]
    oauth.fetch_token(
        metadata["token_endpoint"],
        client_secret=os.environ["CLIENT_SECRET"],
        authorization_response=request.url,
    )
    return f"Hello {oauth.get(metadata['userinfo_endpoint']).json()['email']}"


app.run(host="localhost", port=int(os.environ["PORT"]))
