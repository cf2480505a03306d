import { type RequestInput } from '#agent/contract'

export type CommandInput = Pick<RequestInput<'start_command'>, 'command' | 'commandId' | 'environ' | 'workingDirectory'>

/** Bash of the toolbox: the image may have no shell. */
const BASH = ['/opt/berth/bin/bash', '--norc', '--noprofile', '-c'] as const

/**
 * The parent of a command, the first process of its exec and so the leader of its process group. Its first line on standard error is its
 * process id in the container. Then it waits for USR1 of the lifeline, so that no command runs without one. It handles signals by doing
 * nothing, which programs do not inherit, so that those sent to the group reach the command. When the command has ended, it writes the marker behind both streams, with the exit code, and stays until the agent has read
 * them: the engine drops what has not been read two seconds after the end of an exec. Its own messages (`Killed`) are no part of the output.
 */
const PARENT = `
marker=$1
shift
trap : INT TERM HUP QUIT USR2
go=
trap go=1 USR1
printf '%s\\n' "$$" >&2
exec 3>&2 2>/dev/null
for ((round = 0; round < 300; round++)); do
  [ -z "$go" ] || break
  /opt/berth/bin/busybox sleep 0.1 >/dev/null 3>&- &
  wait "$!"
done
[ -n "$go" ] || exit
trap : USR1
"$@" 2>&3 3>&-
code=$?
trap '' INT TERM HUP QUIT USR1 USR2
printf '%s%s\\n' "$marker" "$code"
printf '%s%s\\n' "$marker" "$code" >&3
exec /opt/berth/bin/busybox sleep infinity
`

/** Run by the shell of the image, with the environment of terminals: directory, variables up to --, how, then the command. */
const INSIDE = `
cd "$HOME" >/dev/null 2>&1 || cd /
if [ -n "$1" ]; then cd -- "$1" >/dev/null || exit 126; fi
shift
while [ "$1" != -- ]; do export "$1"; shift; done
shift
[ -n "$LD_PRELOAD" ] || unset LD_PRELOAD
[ -n "$LD_LIBRARY_PATH" ] || unset LD_LIBRARY_PATH
case $1 in text) exec "$SHELL" -c "$2" ;; esac
shift
exec "$@"
`

/** @param marker see `PARENT` */
export function commandOf({ command, environ, workingDirectory }: CommandInput, marker: string): string[] {
  const variables = Object.entries(environ).map(([name, value]) => `${name}=${value}`)
  const words = typeof command === 'string' ? ['text', command] : ['words', ...command]
  const inside = ['/opt/berth/bin/berth-shell', '-c', INSIDE, 'berth-command']
  return [...BASH, PARENT, 'berth-command', marker, ...inside, workingDirectory ?? '', ...variables, '--', ...words]
}

/** Variable by which processes of a command are found that have left its process group. */
export const COMMAND_VARIABLE = 'BERTH_COMMAND_ID'

/**
 * The lifeline of a command: a second exec, which lets the command begin and sends signals to the process group, one name a line. At the end of its input, which
 * comes when the agent says so and when the agent is gone, it kills the group and every process that was started by the command and has its
 * variable, until none is left. `done`: the command has ended and was read to its end.
 */
const LIFELINE = `
pid=$1 mark=$2
kill -s USR1 "$pid" 2>/dev/null
while IFS= read -r word; do
  case $word in
    done) kill -KILL "$pid"; exit ;;
    *) kill -s "$word" -- "-$pid" ;;
  esac
done 2>/dev/null
exec 2>/dev/null
IFS=$'\\n'
for ((round = 0; round < 20; round++)); do
  found=
  kill -KILL -- "-$pid" && found=1
  for file in /proc/[0-9]*/environ; do
    mapfile -t -d '' variables < "$file" || continue
    [[ $'\\n'"\${variables[*]}"$'\\n' == *$'\\n'"$mark"$'\\n'* ]] || continue
    file=\${file#/proc/}
    kill -KILL "\${file%/environ}" && found=1
  done
  [ -n "$found" ] || exit
  /opt/berth/bin/busybox usleep 50000
done
`

export function lifelineOf(pid: number, commandId: string): string[] {
  return [...BASH, LIFELINE, 'berth-command-end', String(pid), `${COMMAND_VARIABLE}=${commandId}`]
}
