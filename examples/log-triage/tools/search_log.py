"""Print the lines of one log file that contain a text, in the order of time."""

import logfiles

SHOWN = 8


def main() -> None:
    arguments = logfiles.arguments()
    path = logfiles.find(arguments["file"])
    text = arguments["text"]
    hits = [line for line in logfiles.read_lines(path) if text.lower() in line.lower()]
    if not hits:
        logfiles.no_such_data(f"No line of {path.name} contains {text!r}. Try ERROR or WARN.")
    print(f"{len(hits)} lines of {path.name} contain {text!r}.")
    if len(hits) > SHOWN:
        print(f"The first {SHOWN}:")
    for line in hits[:SHOWN]:
        print(line)


if __name__ == "__main__":
    main()
