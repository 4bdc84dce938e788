"""The page of `airwatt explore` over HTTP, for browsers on this machine and for nobody else.

It listens on 127.0.0.1 alone. A request has to name a local host (a page of another site that has its name resolved to
this address is refused) and to begin with a random token, which is known to those who see the address that the command
prints. It only reads: no request changes anything but which simulation runs.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from airwatt import laboratory
from airwatt._core import AirwattError, InputError, Scenario
from airwatt.explore import answers, controls
from airwatt.explore.simulation import Simulation
from airwatt.reports import page

_ADDRESS = "127.0.0.1"
_LONGEST_QUERY = 4_000
_IDLE_S = 30
_MOST_STRANGERS = 128
"""Connections without the token that are kept at a time."""


class Explorer:
    """What a page asks: the models, and the simulation."""

    def __init__(self, source: dict[str, Any], scenario: Scenario | None) -> None:
        self.source = source
        self._scenario = scenario
        self._simulation = Simulation(source)
        self._quick = Simulation(source) if scenario is None else None
        try:
            self.controls, self.policies = self._possible()
        except BaseException:
            self.close()
            raise

    def _possible(self) -> tuple[list[controls.Control], list[str]]:
        """The sliders and the policies. Raises `InputError`."""
        if self._scenario is not None:
            return controls.of_scenario(self._scenario), laboratory.possible_policies(self._scenario)
        policies = [policy["name"] for policy in laboratory.policies()]
        document = self._ask_quickly({"set": [], "models": True})
        if "error" in document:
            raise InputError(document["error"])
        return controls.of_capture(document, policies), policies

    def _ask_quickly(self, job: dict[str, Any]) -> dict[str, Any]:
        assert self._quick is not None
        return self._quick.ask(job)

    def models(self, query: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """What the models give for the settings of a query. Raises `InputError`."""
        asked = controls.checked(self.controls, query)
        asked.pop(controls.POLICY, None)
        if self._scenario is None:
            return self._ask_quickly({"set": list(asked.items()), "models": True})
        return answers.of_scenario(self._scenario.replace(list(asked.items())) if asked else self._scenario)

    def simulate(self, query: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """What a simulation gives for them: `trace=1` with the time line, `all=1` under every policy."""
        own = {key: value for key, value in query if key in ("trace", "all")}
        asked = controls.checked(self.controls, [pair for pair in query if pair[0] not in own])
        start = next((one.values[one.start] for one in self.controls if one.key == controls.POLICY), "active")
        chosen = asked.pop(controls.POLICY, start)
        few = [name for name in self.policies if name in ("active", chosen, "ideal")]
        return self._simulation.ask(
            {
                "set": list(asked.items()),
                "chosen": chosen,
                "policies": self.policies if own.get("all") == "1" else few,
                "trace": own.get("trace") == "1",
            }
        )

    def page(self) -> str:
        """The page."""
        described = {"controls": [control.to_dict() for control in self.controls], "title": self.source["name"]}
        document = json.dumps(described).replace("<", "\\u003c")
        return page.page(
            self.source["name"],
            f'<script type="application/json" id="explore">{document}</script>',
            "beginExplore().catch(failed);",
            scripts=(*page.SCRIPTS, "explore.js"),
            controls=page.asset("explore.html"),
            connects="'self'",
        )

    def close(self) -> None:
        """Ends the processes."""
        self._simulation.close()
        if self._quick is not None:
            self._quick.close()


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    """Connections that wait to be accepted: a browser opens several at once, and beyond 5, the default, they stall."""

    def __init__(self, port: int, explorer: Explorer, token: str) -> None:
        super().__init__((_ADDRESS, port), _Handler)
        self.explorer, self.token = explorer, token
        self._strangers: dict[Any, None] = {}
        """Connections that have not shown the token yet, the oldest first."""
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers a connection in a thread. The oldest strangers make room, so that nobody keeps the owner out."""
        with self._lock:
            self._strangers[request] = None
            ended = [next(iter(self._strangers))] if len(self._strangers) > _MOST_STRANGERS else []
            for one in ended:
                del self._strangers[one]
        for one in ended:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def trust(self, request: Any) -> None:
        """A connection has shown the token: it may stay as long as it likes."""
        with self._lock:
            self._strangers.pop(request, None)

    def shutdown_request(self, request: Any) -> None:
        """Ends a connection."""
        self.trust(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A browser that goes away while it is answered is no error.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: _HttpServer
    protocol_version = "HTTP/1.1"
    # What no request line says, or says so itself, is taken for HTTP/0.9 otherwise, whose answers have no status.
    default_request_version = "HTTP/1.0"
    server_version, sys_version = "airwatt", ""
    timeout = _IDLE_S

    def do_GET(self) -> None:
        """Answers a request."""
        if self.request_version == "HTTP/0.9":
            self.request_version = self.default_request_version
        try:
            parts = urlsplit(self.path)
            query = parse_qsl(parts.query, keep_blank_values=True)
        except ValueError:
            # As of `http://[/`, which is no address of anything.
            self._send(HTTPStatus.BAD_REQUEST, "text/plain", "the address of the request is malformed\n")
            return
        place = parts.path.split("/")
        if not self._is_local():
            self._send(HTTPStatus.FORBIDDEN, "text/plain", "this page is served to this machine alone\n")
        elif len(place) != 3 or not hmac.compare_digest(place[1].encode(), self.server.token.encode()):
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "the address has no such page; airwatt explore prints it\n")
        else:
            self.server.trust(self.connection)
            self._page(place[2], query, len(parts.query))

    def _page(self, name: str, query: list[tuple[str, str]], length: int) -> None:
        explorer = self.server.explorer
        answers = {"models": explorer.models, "simulate": explorer.simulate}
        if name == "":
            self._send(HTTPStatus.OK, "text/html", explorer.page())
        elif name in answers and length <= _LONGEST_QUERY:
            self._answer(answers[name], query)
        else:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "no such page\n")

    def _is_local(self) -> bool:
        """Whether the request names this machine, as one from a page of another site would not."""
        port = self.server.server_address[1]
        return self.headers.get_all("Host") in ([f"{_ADDRESS}:{port}"], [f"localhost:{port}"])

    def _answer(
        self, answer: Callable[[Sequence[tuple[str, str]]], dict[str, Any]], query: list[tuple[str, str]]
    ) -> None:
        try:
            document = answer(query)
        except AirwattError as error:
            document = {"error": " ".join(str(error).splitlines())}
        status = HTTPStatus.BAD_REQUEST if "error" in document else HTTPStatus.OK
        self._send(status, "application/json", json.dumps(document, allow_nan=False))

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Referrer-Policy", "no-referrer")
            self.send_header("X-Frame-Options", "DENY")
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            # The page has asked for something newer.
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the library
        """Says nothing: the terminal belongs to the user."""


class Server:
    """The server; `address` is what a browser opens."""

    def __init__(self, explorer: Explorer, port: int) -> None:
        self._token = secrets.token_urlsafe(18)
        try:
            self._http = _HttpServer(port, explorer, self._token)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"--port {port}: expected a port that is free, got: {reason}") from None
        self.address = f"http://{_ADDRESS}:{self._http.server_port}/{self._token}/"
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stops listening."""
        self._http.shutdown()
        self._http.server_close()
