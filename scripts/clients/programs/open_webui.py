"""Starts Open WebUI as the block does that is its argument, signs in, and plays the turn through its API, which is OpenAI's."""
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
import urllib.request


def ask(path: str, body: dict | None = None, token: str = "") -> dict:
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url + path, data, headers)) as answer:
        return json.load(answer)


def wait() -> None:
    for _ in range(1_000):
        try:
            ask("/health")
            return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError("it does not listen")


with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
url = f"http://127.0.0.1:{port}"
# No accounts, and nothing is fetched from elsewhere.
alone = {"WEBUI_AUTH": "False", "OFFLINE_MODE": "true", "RAG_EMBEDDING_ENGINE": "openai", "DATA_DIR": f"{os.getcwd()}/data"}
server = subprocess.Popen(
    ["bash", "-euc", f'{sys.argv[1].rstrip()} "$@"', "bash", "--host", "127.0.0.1", "--port", str(port)],
    env={**os.environ, **alone},
    stdout=sys.stderr,
    start_new_session=True,
)
try:
    wait()
    token = ask("/api/v1/auths/signin", {"email": "", "password": ""})["token"]
    listed = [model["id"] for model in ask("/api/models", token=token)["data"]]
    if os.environ["MODEL"] not in listed:
        raise LookupError(f"it lists {listed}")
    os.environ.update(OPENAI_BASE_URL=f"{url}/api", OPENAI_API_KEY=token)
    runpy.run_path("openai_chat.py")
finally:
    os.killpg(server.pid, signal.SIGKILL)
