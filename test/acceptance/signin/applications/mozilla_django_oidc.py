import os

import django
import requests
from django.conf import settings
from django.core.management import call_command
from django.http import HttpResponse
from django.urls import include, path

metadata = requests.get(os.environ["ISSUER"] + "/.well-known/openid-configuration").json()
settings.configure(
    ALLOWED_HOSTS=["localhost"],
    SECRET_KEY=os.urandom(32).hex(),
    ROOT_URLCONF=__name__,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "app.db"}},
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "mozilla_django_oidc",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    AUTHENTICATION_BACKENDS=["mozilla_django_oidc.auth.OIDCAuthenticationBackend"],
    LOGIN_URL="/oidc/authenticate/",
    LOGIN_REDIRECT_URL="/",
    OIDC_RP_CLIENT_ID=os.environ["CLIENT_ID"],
    OIDC_RP_CLIENT_SECRET=os.environ["CLIENT_SECRET"],
    OIDC_RP_SIGN_ALGO="RS256",
    OIDC_OP_AUTHORIZATION_ENDPOINT=metadata["authorization_endpoint"],
    OIDC_OP_TOKEN_ENDPOINT=metadata["token_endpoint"],
    OIDC_OP_USER_ENDPOINT=metadata["userinfo_endpoint"],
    OIDC_OP_JWKS_ENDPOINT=metadata["jwks_uri"],
    OIDC_USE_PKCE=True,
)
django.setup()

from django.contrib.auth.decorators import login_required  # noqa: E402 it reads the settings


@login_required
def hello(request):
    return HttpResponse(f"Hello {request.user.email}")


urlpatterns = [path("", hello), path("oidc/", include("mozilla_django_oidc.urls"))]

call_command("migrate", verbosity=0)
call_command("runserver", "localhost:" + os.environ["PORT"], use_reloader=False)
