"""Write the report as Markdown and say where it is."""

import os
from pathlib import Path

import logfiles


def main() -> None:
    arguments = logfiles.arguments()
    folder = Path(os.environ.get("REPORT_DIR") or Path(__file__).resolve().parent.parent / "reports")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "log-triage.md"
    path.write_text(
        f"# {arguments['title']}\n\nSeverity: {arguments['severity']}\n\n{arguments['findings']}\n",
        encoding="utf-8",
    )
    print(f"Report written to {path}")


if __name__ == "__main__":
    main()
