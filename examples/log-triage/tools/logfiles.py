"""What the tools of this example share: where the logs are, how arguments arrive, how to say that data isn't there."""

import json
import sys
from pathlib import Path
from typing import NoReturn

LOGS = Path(__file__).resolve().parent.parent / "logs"
NO_SUCH_DATA = 66


def arguments() -> dict:
    """The call's arguments: Forge writes them to the tool's standard input as one JSON object."""
    return json.load(sys.stdin)


def all_logs() -> list[Path]:
    return sorted(LOGS.glob("*.log"))


def read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def find(name: str) -> Path:
    """The log of that name. A name that isn't there ends the tool: the call was valid, the data doesn't exist."""
    for path in all_logs():
        if path.name == name:
            return path
    names = ", ".join(path.name for path in all_logs())
    no_such_data(f"There is no log file {name!r}. The log files are: {names}.")


def no_such_data(message: str) -> NoReturn:
    print(message)
    sys.exit(NO_SUCH_DATA)
