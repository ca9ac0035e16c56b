"""List the log files with their size and the time they span."""

import logfiles


def main() -> None:
    for path in logfiles.all_logs():
        lines = logfiles.read_lines(path)
        first, last = (lines[0].split()[0], lines[-1].split()[0]) if lines else ("-", "-")
        print(f"{path.name}: {len(lines)} lines, {first} to {last}")


if __name__ == "__main__":
    main()
