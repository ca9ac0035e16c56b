"""Count the lines of one log file by level, and its errors by hour."""

from collections import Counter

import logfiles


def main() -> None:
    path = logfiles.find(logfiles.arguments()["file"])
    levels: Counter[str] = Counter()
    errors_by_hour: Counter[str] = Counter()
    for line in logfiles.read_lines(path):
        time, level, *_ = line.split()
        levels[level] += 1
        if level == "ERROR":
            errors_by_hour[time[11:13]] += 1
    print(f"{path.name}: " + ", ".join(f"{level} {count}" for level, count in sorted(levels.items())))
    for hour, count in sorted(errors_by_hour.items()):
        print(f"errors from {hour}:00 to {hour}:59: {count}")


if __name__ == "__main__":
    main()
