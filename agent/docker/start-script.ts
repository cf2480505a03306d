/**
 * File that the container creates when its start-up script has ended. /dev/shm exists in every image, and is empty when a container starts.
 */
export const STARTED_MARK = '/dev/shm/.berth-started'
/** File name in the control directory, /run/berth. */
export const NOTES = 'start-notes'
export const SCRIPT = 'start-script'
/** Limit for a script that hangs: apps must not wait for ever. */
const MOST_SECONDS = 15 * 60

/**
 * Shell script of the main process: prints the notes about the start, runs the owner's start-up script to its end, then replaces itself
 * with the command in its arguments. Output goes to the log of the session. SIGTERM ends the script and the container.
 */
export function startScript(busybox: string, shell: string): string {
  return `[ -r /run/berth/${NOTES} ] && ${busybox} cat /run/berth/${NOTES} >&2
if [ -r /run/berth/${SCRIPT} ]; then
  ${busybox} timeout -k 5 ${MOST_SECONDS} ${shell} -c 'exec bash /run/berth/${SCRIPT}' & script=$!
  trap 'kill -TERM $script 2>/dev/null; wait $script; exit 143' TERM
  wait $script
  code=$?
  trap - TERM
  case $code in
    0) ;;
    124 | 137 | 143) echo "Your start-up script was stopped (exit code $code); it has ${MOST_SECONDS / 60} minutes. The session continues." >&2 ;;
    *) echo "Your start-up script ended with exit code $code; the session continues." >&2 ;;
  esac
fi
: > ${STARTED_MARK}
exec "$@"`
}
