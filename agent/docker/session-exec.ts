import { type Duplex } from 'node:stream'
import type Docker from 'dockerode'

/** A container, and the user of its session (`uid:gid`). */
export interface ExecPlace {
  readonly containerId: string
  readonly user: string
}

/**
 * Starts a program in a container as the user of its session, without a terminal.
 *
 * @param variables `NAME=value`, beside those of the container
 * @returns its input, and its output in the form that `createDemuxer` splits @throws errors of the engine
 */
export async function openExec(
  docker: Pick<Docker, 'getContainer'>,
  { containerId, user }: ExecPlace,
  command: readonly string[],
  variables: readonly string[] = [],
): Promise<Duplex> {
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
  return await exec.start({ hijack: true, stdin: true, Tty: false })
}
