"""Pages of the UI and the sockets they are used by, as a program speaks with them."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from websockets.sync.client import ClientConnection, connect

from gateway.gateway_process import SECONDS, GatewayProcess
from gateway.login.login_world import USERS, basic, gateway_before

AL, BO = (basic(name, USERS[name]) for name in ("al", "bo"))


@contextmanager
def socket_of(front: GatewayProcess, headers: dict[str, str]) -> Iterator[ClientConnection]:
    url = f"{front.url.replace('http', 'ws')}/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    with connect(url, additional_headers=headers, proxy=None) as socket:
        assert str(socket.recv(timeout=SECONDS)).startswith("0")
        socket.send("40")
        assert str(socket.recv(timeout=SECONDS)).startswith("40")
        yield socket


def open_page(front: GatewayProcess, headers: dict[str, str]) -> str:
    """The id of the page."""
    with front.client() as http:
        text = http.get("/ui/topics", headers=headers).raise_for_status().text
    found = re.search(r"client_id\W{1,12}([0-9a-f-]{36})", text)
    assert found, text
    return found[1]


def take_up(socket: ClientConnection, page: str) -> bool:
    said = {"client_id": page, "tab_id": "t", "document_id": "d"}
    socket.send(f"420{json.dumps(['handshake', said])}")
    while not (reply := str(socket.recv(timeout=SECONDS))).startswith("430"):
        pass
    return reply == "430[true]"


def log(socket: ClientConnection, page: str, text: str) -> None:
    """Something that the gateway does for a page, and that can be seen from outside."""
    said = {"client_id": page, "level": "error", "message": text}
    socket.send(f"421{json.dumps(['log', said])}")
    while not str(socket.recv(timeout=SECONDS)).startswith("431"):
        pass


@pytest.mark.usefixtures("orders")
def test_a_page_hears_its_own_log_in_alone(secured, tmp_path, capfd):
    front = gateway_before(secured, tmp_path).start()
    try:
        page = open_page(front, AL)
        with socket_of(front, AL) as own, socket_of(front, BO) as other:
            assert not take_up(other, page)
            assert take_up(own, page)
            log(other, page, "said by another")
            log(own, page, "said by its own")
    finally:
        front.stop()
    said = capfd.readouterr()
    assert "said by its own" in said.out + said.err
    assert "said by another" not in said.out + said.err


@pytest.mark.usefixtures("orders")
def test_what_is_no_page_takes_no_place_of_one(secured, tmp_path):
    front = gateway_before(secured, tmp_path, "--set", "ui_pages_max=3").start()
    try:
        with front.client() as http:
            for number in range(5):
                missing = http.get(f"/_nicegui/nothing-{number}", headers=AL)
                assert missing.status_code == 404
            assert http.get("/ui/topics", headers=AL).status_code == 200
            assert missing.headers["content-type"] == "application/problem+json"
    finally:
        front.stop()
