"""A web application that signs people in by Authlib, and knows of the provider its address and nothing else."""

import json
import os
import sys

from authlib.integrations.flask_client import OAuth
from flask import Flask, jsonify
from werkzeug.serving import make_server

# The provider's address, and what `clients create` printed.
settings = json.loads(sys.argv[1])

application = Flask(__name__)
application.secret_key = os.urandom(32)
clients = OAuth(application)

for method in ("client_secret_basic", "client_secret_post"):
    clients.register(
        method,
        client_id=settings["client_id"],
        client_secret=settings["client_secret"],
        server_metadata_url=settings["auth_url"] + "/.well-known/openid-configuration",
        client_kwargs={
            "scope": "openid email profile",
            "code_challenge_method": "S256",
            "token_endpoint_auth_method": method,
        },
    )


@application.get("/<method>/login")
def login(method):
    return clients.create_client(method).authorize_redirect(settings["redirect_uri"])


@application.get("/<method>/callback")
def callback(method):
    client = clients.create_client(method)
    # Checks the state of the session, redeems the code with the verifier, and validates the ID token with its nonce.
    token = client.authorize_access_token()
    return jsonify(claims=token["userinfo"], userinfo=client.userinfo(token=token), scope=token["scope"])


server = make_server("127.0.0.1", 0, application)
print(f"listening on {server.port}", flush=True)
server.serve_forever()
