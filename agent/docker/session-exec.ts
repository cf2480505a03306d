import { readFile } from 'node:fs/promises'
import { type Duplex } from 'node:stream'
import type Docker from 'dockerode'

/** A container, and the user of its session (`uid:gid`). */
export interface ExecPlace {
  readonly containerId: string
  readonly user: string
}

export interface SessionExec {
  readonly exec: Docker.Exec
  /** Input of the program, and its output in the form that `createDemuxer` splits. */
  readonly stream: Duplex
}

/**
 * Starts a program in a container as the user of its session, without a terminal.
 *
 * @param variables `NAME=value`, beside those of the container
 * @throws errors of the engine
 */
export async function startExec(
  docker: Pick<Docker, 'getContainer'>,
  { containerId, user }: ExecPlace,
  command: readonly string[],
  variables: readonly string[] = [],
): Promise<SessionExec> {
  const exec = await docker.getContainer(containerId).exec({
    Cmd: [...command],
    // The image's loader settings are meant for the image's own programs; berth-shell restores them.
    Env: ['LD_LIBRARY_PATH=', 'LD_PRELOAD=', ...variables],
    User: user,
    WorkingDir: '/',
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
  })
  return { exec, stream: await exec.start({ hijack: true, stdin: true, Tty: false }) }
}

/** `startExec` for programs that need no signal. */
export async function openExec(...input: Parameters<typeof startExec>): Promise<Duplex> {
  return (await startExec(...input)).stream
}

/**
 * Sends a signal to the process of an exec: the engine leaves it running when its connection ends.
 *
 * @returns false if this computer has no such process in the container: it has ended, or the engine is elsewhere
 * @throws errors of the engine; Error if this process may not send it
 */
export async function signalExec(
  exec: Pick<Docker.Exec, 'inspect'>,
  containerId: string,
  signal: NodeJS.Signals,
): Promise<boolean> {
  // An engine may say that an exec does not run as soon as its connection has ended.
  const { Pid } = await exec.inspect()
  if (!Pid) return false
  // Signal only a process of that container: with an engine elsewhere, the number means another process here.
  const cgroups = await readFile(`/proc/${Pid}/cgroup`, 'utf8').catch(() => '')
  if (!cgroups.includes(containerId)) return false
  process.kill(Pid, signal)
  return true
}
