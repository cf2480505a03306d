import { demultiplex } from './log-frames.ts'
import { type EngineClient } from './engine-client.ts'

export interface Inside {
  readonly containerId: string
  /** `uid:gid` */
  readonly user: string
}

/** Runs a command in a container to its end, as the session's user. @returns what it printed on both streams */
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
  for await (const chunk of await exec.start({ hijack: false, stdin: false })) chunks.push(chunk as Buffer)
  const { ExitCode } = await exec.inspect()
  return { output: demultiplex(Buffer.concat(chunks)).toString('utf8'), exitCode: ExitCode }
}
