import { TOOLBOX } from '../docker/container-config.ts'
import { type EngineClient } from '../docker/engine-client.ts'
import { type Inside, runInside } from '../docker/run-inside.ts'

/**
 * Shell script that writes the line in TEXT to all terminals of a container, as `wall` does. A terminal that nobody reads must not delay the
 * others.
 */
const TELL_TERMINALS = `for terminal in /dev/pts/[0-9]*; do
  timeout 2 sh -c 'printf "\\r\\n\\007*** %s ***\\r\\n" "$TEXT" > "$0"' "$terminal" 2> /dev/null &
done
wait`

/** Writes a line to all terminals of a running container, after a script that runs first. */
export async function tellTerminals(engine: EngineClient, kernel: Inside, text: string, first = ''): Promise<void> {
  await runInside(engine, kernel, {
    command: [`${TOOLBOX}/bin/busybox`, 'sh', '-c', first + TELL_TERMINALS],
    environment: { PATH: `${TOOLBOX}/applets`, TEXT: text },
  })
}
