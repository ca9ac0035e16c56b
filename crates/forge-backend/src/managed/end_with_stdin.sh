# Runs the command in the arguments and ends it when standard input is closed, so that a server can't outlive the process
# that started it, however that one ended.
exec 3<&0
"$@" </dev/null 3<&- &
server=$!
trap 'kill -TERM "$server" 2>/dev/null' TERM
(
    while read -r _; do :; done
    kill -TERM "$server" 2>/dev/null
    sleep 5
    kill -KILL "$server" 2>/dev/null
) <&3 3<&- >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait "$server"
status=$?
# A signal ends the wait before the server ends.
while kill -0 "$server" 2>/dev/null; do
    wait "$server"
    status=$?
done
kill "$watcher" 2>/dev/null
exit "$status"
