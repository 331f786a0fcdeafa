"""A TCP proxy in front of a catalog: it counts connections, and can stop answering."""

import contextlib
import socket
import threading
from typing import Self


class CountingProxy:
    """Forwards connections to a port of loopback; `hangs` accepts further connections and never answers them.

    `cut_after` closes each connection after so many bytes of answers.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.connections = 0
        self.hangs = False
        self.cut_after: int | None = None

    @property
    def uri(self) -> str:
        """The address for clients."""
        return f"thrift://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(client)
            if self.hangs:
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                client.close()
                continue
            self._open.append(server)
            threading.Thread(target=self._forward, args=(client, server, None), daemon=True).start()
            threading.Thread(target=self._forward, args=(server, client, self.cut_after), daemon=True).start()

    @staticmethod
    def _forward(source: socket.socket, target: socket.socket, limit: int | None) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                passed += len(data)
                if limit is not None and passed > limit:
                    break
                target.sendall(data)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
