"""``posbias`` for a shell script: hand the command to the test that serves at $POSBIAS_SOCKET, and
end as it did.
"""

import json
import os
import socket
import sys

with socket.socket(socket.AF_UNIX) as server:
    server.connect(os.environ["POSBIAS_SOCKET"])
    with server.makefile("rw", encoding="utf-8") as stream:
        stream.write(
            json.dumps(
                {"arguments": sys.argv[1:], "cwd": os.getcwd(), "environment": dict(os.environ)}
            )
            + "\n"
        )
        stream.flush()
        out, err, code = json.loads(stream.readline())
sys.stdout.write(out)
sys.stdout.flush()
sys.stderr.write(err)
sys.exit(code)
