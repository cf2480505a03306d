import { demultiplex } from './log-frames.ts'
import { type EngineClient } from './engine-client.ts'

export interface Inside {
  readonly containerId: string
  /** `uid:gid` */
  readonly user: string
}

/** Limit of the output that is kept; the rest is discarded. */
const MOST_BYTES = 4 * 1024 * 1024

/**
 * Runs a command in a container to its end, as the session's user. The session's own programs are of that user too, and can write any
 * amount to the command's output (`/proc/PID/fd/1`): output beyond the limit is discarded.
 *
 * @returns what it printed on both streams
 */
export async function runInside(
  engine: EngineClient,
  { containerId, user }: Inside,
  { command, environment = {} }: { command: readonly string[]; environment?: Readonly<Record<string, string>> },
): Promise<{ output: string; exitCode: number | null }> {
  const exec = await engine.calls.getContainer(containerId).exec({
    Cmd: [...command],
    Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    User: user,
    WorkingDir: '/',
    AttachStdout: true,
    AttachStderr: true,
  })
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of await exec.start({ hijack: false, stdin: false })) {
    if (bytes < MOST_BYTES) chunks.push(chunk as Buffer)
    bytes += (chunk as Buffer).length
  }
  const { ExitCode } = await exec.inspect()
  return { output: demultiplex(Buffer.concat(chunks)).toString('utf8'), exitCode: ExitCode }
}
