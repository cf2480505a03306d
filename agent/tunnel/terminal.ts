import { randomUUID } from 'node:crypto'
import { type Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type Docker from 'dockerode'
import { z } from 'zod'
import { type DataHeader } from '#agent/contract'
import { parseJson } from '#base/parse-json'
import { openExec, signalExec, startInTurn } from '../docker/session-exec.ts'
import { type Log } from './data-sockets.ts'
import { type Engine, type KernelAddress } from './service.ts'
import { followSize } from './terminal-size.ts'

export interface Terminal {
  readonly stream: Duplex
  /** A text frame of the client. Anything but a resize is ignored. */
  readonly onText: (text: string) => void
  /** Call when the stream has ended: says whether the user left the shell, or the container ended. */
  readonly endReason: () => Promise<'done' | 'session_ended'>
}

/** Number of checks: the engine may end the streams of a container before it reports that the container has ended. */
const END_LOOKS = 5
const BETWEEN_LOOKS_MS = 200
/** Exit code of a process ended by SIGKILL, like every process of a killed container. */
const KILLED = 137

/** Names the client of tmux of one exec; its shells may have the variable too, but they are no clients. */
const CLIENT = 'BERTH_TERMINAL_CLIENT'
/** Sends SIGHUP to the client of tmux that has the variable CLIENT with the value of the first argument. */
const END_CLIENT = `for process in /proc/[0-9]*; do
  read -r name < "$process/comm" && [ "$name" = "tmux: client" ] || continue
  case "$(tr "\\0" "\\n" < "$process/environ")" in *"${CLIENT}=$1"*) kill -HUP "\${process#/proc/}" ;; esac
done 2> /dev/null`

const Message = z.object({ resize: z.object({ cols: z.int().min(1).max(1000), rows: z.int().min(1).max(1000) }) })

/**
 * Opens, or returns to, the terminal of that name: a tmux session in the container. Ending the stream ends the exec, not the
 * shell.
 */
export async function openTerminal(options: {
  docker: Engine
  kernel: KernelAddress
  header: Extract<DataHeader, { kind: 'terminal' }>
  log: Log
}): Promise<Terminal> {
  const { docker, kernel, header, log } = options
  const client = randomUUID()
  const { exec, stream } = await startInTurn(docker, kernel.containerId, {
    Cmd: ['/opt/berth/bin/berth-terminal', header.name],
    Env: ['TERM=xterm-256color', 'COLORTERM=truecolor', `${CLIENT}=${client}`],
    User: kernel.user,
    // The script itself changes to the home, if there is one.
    WorkingDir: '/',
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: true,
  })
  const end = new AbortController()
  const resize = followSize(
    ({ cols, rows }) => exec.resize({ w: cols, h: rows }),
    end.signal,
    error => log.debug({ error: String(error) }, 'resize failed'),
  )
  resize(header)
  stream.once('close', () => {
    end.abort()
    endClient(docker, kernel, { exec, client }).catch((error: unknown) =>
      log.debug({ error: String(error) }, 'the exec of a terminal could not be ended'),
    )
  })
  return {
    stream,
    onText(text) {
      const message = parseMessage(text)
      if (message) resize(message.resize)
    },
    endReason: () => reasonOfEnd(docker.getContainer(kernel.containerId), exec),
  }
}

/**
 * With a TTY the client of tmux does not notice the end of its connection, so it gets the signal that a terminal line would send. The tmux
 * server and its shell live on.
 */
async function endClient(
  docker: Engine,
  kernel: KernelAddress,
  { exec, client }: { readonly exec: Docker.Exec; readonly client: string },
): Promise<void> {
  const isDone = await signalExec(exec, kernel.containerId, 'SIGHUP').catch(() => false)
  if (isDone || !(await exec.inspect()).Running) return
  // This process may not send signals to sessions, or the engine is elsewhere.
  const end = await openExec(docker, kernel, ['/opt/berth/applets/ash', '-c', END_CLIENT, 'terminal', client])
  end.on('error', () => undefined).resume()
}

async function reasonOfEnd(container: Docker.Container, exec: Docker.Exec): Promise<'done' | 'session_ended'> {
  try {
    for (let look = 0; look < END_LOOKS; look++) {
      const { State } = await container.inspect()
      if (!State.Running) return 'session_ended'
      const { ExitCode } = await exec.inspect()
      if (ExitCode !== KILLED && ExitCode !== null) return 'done'
      await delay(BETWEEN_LOOKS_MS)
    }
    return 'done'
  } catch {
    // The engine no longer knows the container, or its exec.
    return 'session_ended'
  }
}

function parseMessage(text: string): z.infer<typeof Message> | undefined {
  return Message.safeParse(parseJson(text)).data
}
