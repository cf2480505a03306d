import { TOOLBOX } from '../docker/container-config.ts'
import { type EngineClient } from '../docker/engine-client.ts'
import { type Inside, runInside } from '../docker/run-inside.ts'

/**
 * Shell script that ends the processes that hold the listening socket of PORT (four hex digits): SIGTERM, after five seconds
 * SIGKILL. It fails if the port is still open after that.
 */
const END = `sockets() {
  cat /proc/net/tcp /proc/net/tcp6 2> /dev/null |
    awk -v port=":$PORT" '$4 == "0A" && substr($2, length($2) - 4) == port { print "socket:[" $10 "]" }'
}
holders() {
  for socket in $(sockets); do
    for link in /proc/[0-9]*/fd/*; do
      [ "$(readlink "$link" 2> /dev/null)" = "$socket" ] || continue
      process=\${link#/proc/}
      echo "\${process%%/*}"
    done
  done
}
for signal in TERM KILL; do
  kill -$signal $(holders) 2> /dev/null
  for try in $(seq 50); do [ -n "$(sockets)" ] || exit 0; sleep 0.1; done
done
exit 1`

/**
 * Ends the program that listens on a port of the container, from within and as the session's user, who may end it anyway.
 *
 * @returns false if the port is still open
 */
export async function endListener(engine: EngineClient, kernel: Inside, port: number): Promise<boolean> {
  const { exitCode } = await runInside(engine, kernel, {
    command: [`${TOOLBOX}/bin/busybox`, 'sh', '-c', END],
    environment: { PATH: `${TOOLBOX}/applets`, PORT: port.toString(16).toUpperCase().padStart(4, '0') },
  })
  return exitCode === 0
}
