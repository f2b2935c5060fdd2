"""The files for many machines fit together, and fit the lab."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib

import pytest

from tests.support.viz_helpers import ROOT
from viz.classroom.rooms.stream import ALIVE
from viz.server.connections import BODY_SECONDS, HEAD_SECONDS, MAX_OF_ADDRESS
from viz.state.uploads import UPLOAD_MB

DEPLOY = ROOT / "deploy"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


def test_the_image_holds_all_that_the_lab_is_installed_from():
    copied = re.findall(r"^COPY (.+) \S+$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    names = {name for names in copied for name in names.split()}
    kept = set((ROOT / ".dockerignore").read_text().split())
    assert {"app.py", "viz", "model", "checkpoints", "requirements.txt", ".streamlit"} <= names
    assert names == {name.removeprefix("!") for name in kept if name.startswith("!")}
    assert all((ROOT / name).exists() for name in names)
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"] == ">=3.11"


def test_every_replica_is_known_to_the_one_that_shares_out():
    services = re.findall(r"^  (lab\d+): \*lab$", (DEPLOY / "compose.yaml").read_text(), re.MULTILINE)
    known = re.findall(r"server (lab\d+):8501", (DEPLOY / "nginx.conf").read_text())
    assert services == known and len(known) >= 2


def test_the_largest_zip_that_visitors_may_bring_is_let_through():
    inside = re.search(r"location /_stcore/upload_file \{(.*?)\}", (DEPLOY / "nginx.conf").read_text(), re.DOTALL)
    assert inside and int(re.search(r"client_max_body_size (\d+)m;", inside[1])[1]) > UPLOAD_MB
    assert "proxy_pass http://lab;" in inside[1]


def test_replicas_share_redis_and_trust_the_address_of_nginx():
    compose, nginx = (DEPLOY / "compose.yaml").read_text(), (DEPLOY / "nginx.conf").read_text()
    assert re.search(r"REDIS_URL: redis://(\w+):6379/0", compose)[1] in re.findall(r"^  (\w+):$", compose, re.MULTILINE)
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in nginx and 'FORWARDED_ALLOW_IPS: "*"' in compose
    assert compose.count("ports:") == 1  # nginx's: nobody else reaches a replica, or Redis
    assert "proxy_buffering off;" in nginx
    rooms = re.search(r"location /rooms \{(.*?)\n        \}", nginx, re.DOTALL)[1]
    assert "proxy_pass http://lab;" in rooms and "proxy_next_upstream error timeout;" in rooms
    assert int(re.search(r"proxy_read_timeout (\d+)m;", rooms)[1]) * 60 > 2 * ALIVE


def test_nginx_has_the_limits_of_the_server():
    nginx = (DEPLOY / "nginx.conf").read_text()
    assert f"client_header_timeout {HEAD_SECONDS:.0f}s;" in nginx and f"client_body_timeout {BODY_SECONDS:.0f}s;" in nginx
    assert f"limit_conn visitors {MAX_OF_ADDRESS};" in nginx


@pytest.mark.skipif(not NGINX, reason="nginx is not installed")
def test_nginx_reads_its_file(tmp_path):
    text = re.sub(r"lab\d+:8501", "127.0.0.1:8501", (DEPLOY / "nginx.conf").read_text())
    (file := tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid;\nerror_log {tmp_path}/log;\n{text}")
    done = subprocess.run([NGINX, "-t", "-p", tmp_path, "-c", file], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
