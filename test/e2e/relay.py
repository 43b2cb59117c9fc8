# SPDX-License-Identifier: MIT
"""A loopback TCP relay that can do what networks do.

It forwards bytes and knows nothing of them, so TLS goes through it from end to
end. Its owner may, at any time, hold back the bytes of either direction or of
new connections, let only so many through, slow them down, end or forget the
connections there are, refuse new ones, or send new ones elsewhere. What is
held back is forwarded when it is released, as after a cut on the way, where TCP
sends again what was not acknowledged.
"""

import asyncio
import socket
import threading
import time

CHUNK = 1 << 16
CALL_TIMEOUT_S = 10
PACE_S = 0.05  # between two pieces of what is slowed down


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
        self._moved_at = 0  # when bytes were last forwarded, either way
        self._has_moved = threading.Condition()
        self._is_used_up = threading.Event()
        self._allowance = None  # bytes that clients may still get, if limited
        self._rate = None  # bytes a second
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

    def wait_quiet(self, quiet_s, timeout_s):
        """Waits until nothing was forwarded for so long; False if it does not
        happen."""
        deadline = time.monotonic() + timeout_s
        with self._has_moved:
            while True:
                now = time.monotonic()
                left_s = self._moved_at + quiet_s - now
                if left_s <= 0 or now >= deadline:
                    return left_s <= 0
                self._has_moved.wait(left_s)

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

    def hold_after(self, count):
        """Forwards so many more bytes to clients, of all connections together,
        then holds back the rest; see wait_held()."""
        self._is_used_up.clear()
        self._call(self._allow, count)

    def wait_held(self, timeout_s):
        """Waits until hold_after() holds back; False if it does not."""
        return self._is_used_up.wait(timeout_s)

    def slow_down(self, bytes_per_s):
        """The bytes to each client come no faster than this, from now on."""
        self._call(self._set_rate, bytes_per_s)

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

    def aim(self, target_port):
        """New connections go to another port; those there are go on."""
        self._target = target_port

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

    def _allow(self, count):
        self._allowance = count

    def _set_rate(self, bytes_per_s):
        self._rate = bytes_per_s

    def _new_gate_clear(self):
        self._new.clear()

    def _release(self):
        self._allowance = None
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
            while data:
                await gate.wait()
                if connection.is_dead():
                    break
                piece, data = await self._take_piece(gate, data)
                writer.write(piece)
                await writer.drain()
                with self._has_moved:
                    self._moved_at = time.monotonic()
                    self._has_moved.notify_all()
        await gate.wait()
        if not connection.is_dead():
            writer.write_eof()

    async def _take_piece(self, gate, data):
        """Returns what may be forwarded now, and the rest."""
        size = len(data)
        if gate is self._to_client and self._rate:
            size = min(size, int(self._rate * PACE_S))
            await asyncio.sleep(size / self._rate)
        if gate is self._to_client and self._allowance is not None:
            size = min(size, self._allowance)
            self._allowance -= size
            if self._allowance == 0:
                gate.clear()
                self._is_used_up.set()
        return data[:size], data[size:]


class _Connection:
    def __init__(self, writer):
        self.writers = [writer]
        self.is_forgotten = False
        self.is_aborted = False

    def is_dead(self):
        return self.is_forgotten or self.is_aborted

    def abort(self):
        self.is_aborted = True
        for writer in self.writers:
            writer.transport.abort()
