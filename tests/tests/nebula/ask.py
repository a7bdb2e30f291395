"""How the stand-ins for nebula-console and NebulaGraph Bench ask graphd."""
import socket


def ask(port, words):
    with socket.create_connection(("127.0.0.1", int(port))) as connection:
        lines = connection.makefile("rw", newline="\n")
        lines.write(words + "\n")
        lines.flush()
        answer = ""
        while (line := lines.readline()).strip():
            answer += line
        return answer
