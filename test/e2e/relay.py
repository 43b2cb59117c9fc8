# SPDX-License-Identifier: MIT
"""A loopback TCP relay that can do what networks do.

It forwards bytes and knows nothing of them, so TLS goes through it from end to
end. Its owner may, at any time, hold back the bytes of either direction or of
new connections, end or forget the connections there are, refuse new ones, or
send new ones elsewhere. What is held back is forwarded when it is released, as
after a cut on the way, where TCP sends again what was not acknowledged.
"""

import asyncio
import socket
import threading
import time

CHUNK = 1 << 16
CALL_TIMEOUT_S = 10


class Relay:
    """A context manager; its port stays its own until the end."""

    def __init__(self, target_port):
        self._target = target_port
        self.accepted = []  # when connections came, by time.monotonic()
        # A socket that is bound and does not listen: it keeps the port while
        # connections are refused.
        self._reserved = self._bind(0)
        self.port = self._reserved.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._has_accepted = threading.Condition()
        self._connections = set()
        self._tasks = set()
        self._listener = None

    def __enter__(self):
        self._thread.start()
        self._call(self._set_up)
        self.accept()
        return self

    def wait_accepted(self, count, timeout_s):
        """Waits until so many connections have come; False if they do not."""
        with self._has_accepted:
            return self._has_accepted.wait_for(
                lambda: len(self.accepted) >= count, timeout_s)

    def __exit__(self, *_):
        self.refuse()
        # What is held back is let go, so that every task comes to its end.
        self.release()
        self._call(self._end_tasks)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._reserved.close()

    # ---- what the owner may do; each returns when it is done

    def hold(self, to_server=True, to_client=True):
        """Holds back the bytes of the directions named, of all connections."""
        self._call(self._set_gates, to_server, to_client)

    def hold_new(self):
        """Accepts new connections and forwards nothing of them."""
        self._call(self._new_gate_clear)

    def release(self):
        """Forwards everything again, and what was held back first."""
        self._call(self._release)

    def cut(self):
        """Ends all connections; new ones are welcome."""
        self._call(self._cut)

    def forget(self):
        """The connections there are stay open and dead; new ones work."""
        self._call(self._forget)

    def refuse(self):
        """As if nobody listened any more: ends all, refuses new ones."""
        self._call(self._refuse)

    def accept(self):
        """Ends refuse()."""
        self._call(self._accept)

    def send_to(self, target_port):
        """Ends all connections; new ones go to another port."""
        self._target = target_port
        self.cut()

    # ---- the loop's thread

    def _run(self):
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def _call(self, function, *arguments):
        """Runs the function in the loop's thread."""
        async def run():
            result = function(*arguments)
            if asyncio.iscoroutine(result):
                await result

        asyncio.run_coroutine_threadsafe(run(), self._loop).result(
            CALL_TIMEOUT_S)

    async def _end_tasks(self):
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _set_up(self):
        self._to_server, self._to_client = asyncio.Event(), asyncio.Event()
        self._new = asyncio.Event()
        self._release()

    def _set_gates(self, hold_to_server, hold_to_client):
        if hold_to_server:
            self._to_server.clear()
        if hold_to_client:
            self._to_client.clear()

    def _new_gate_clear(self):
        self._new.clear()

    def _release(self):
        for gate in (self._to_server, self._to_client, self._new):
            gate.set()

    def _cut(self):
        for connection in list(self._connections):
            connection.abort()

    def _forget(self):
        for connection in self._connections:
            connection.is_forgotten = True

    def _refuse(self):
        if self._listener:
            self._listener.close()
            self._listener = None
        self._cut()

    async def _accept(self):
        if not self._listener:
            listening = self._bind(self.port)
            self._listener = await asyncio.start_server(self._serve,
                                                        sock=listening)

    @staticmethod
    def _bind(port):
        bound = socket.socket()
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.bind(("127.0.0.1", port))
        return bound

    async def _serve(self, reader, writer):
        with self._has_accepted:
            self.accepted.append(time.monotonic())
            self._has_accepted.notify_all()
        task = asyncio.current_task()
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        connection = _Connection(writer)
        self._connections.add(connection)
        try:
            await self._new.wait()
            if connection.is_aborted:
                return
            server_reader, server_writer = await asyncio.open_connection(
                "127.0.0.1", self._target)
            connection.writers.append(server_writer)
            await asyncio.gather(
                self._pump(connection, reader, server_writer, self._to_server),
                self._pump(connection, server_reader, writer,
                           self._to_client))
        except OSError:
            connection.abort()
        finally:
            self._connections.discard(connection)
            for each in connection.writers:
                each.close()

    async def _pump(self, connection, reader, writer, gate):
        while data := await reader.read(CHUNK):
            await gate.wait()
            if connection.is_forgotten:
                continue
            writer.write(data)
            await writer.drain()
        await gate.wait()
        if not connection.is_forgotten:
            writer.write_eof()


class _Connection:
    def __init__(self, writer):
        self.writers = [writer]
        self.is_forgotten = False
        self.is_aborted = False

    def abort(self):
        self.is_aborted = True
        for writer in self.writers:
            writer.transport.abort()
