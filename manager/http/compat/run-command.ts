import { type ApiClient, AppError, type CommandEnd, type CommandSpec, type SessionId } from '#manager/contract'

const WAIT_SECONDS = 20

export interface Ran {
  readonly exitCode: CommandEnd['exitCode']
  readonly reason: CommandEnd['reason']
  readonly stdout: string
  readonly stderr: string
}

/** Runs a short command in a session and waits for its end. Its output is at most a megabyte. @throws AppError of `runCommand` */
export async function runToEnd(api: ApiClient, id: SessionId, spec: CommandSpec): Promise<Ran> {
  let result = await api.runCommand({ params: { id }, body: { ...spec, waitSeconds: WAIT_SECONDS } })
  while (result.status === 'RUNNING') {
    result = await api.getCommand({ params: { id, commandId: result.id }, query: { waitSeconds: WAIT_SECONDS } })
  }
  const { exitCode, reason, stdout = '', stderr = '' } = result
  return { exitCode, reason: reason ?? 'lost', stdout, stderr }
}

/** The same, of a command that has to succeed. @throws AppError `bad_request` with what it wrote */
export async function runOrFail(api: ApiClient, id: SessionId, spec: CommandSpec): Promise<string> {
  const { exitCode, stdout, stderr } = await runToEnd(api, id, spec)
  if (exitCode === 0) return stdout
  throw new AppError('bad_request', {
    why: stderr.trim().slice(0, 300) || `The command ended with ${exitCode ?? 'no exit code'}.`,
  })
}

/** Runs a command and passes its output on as it comes, no faster than `say` takes it. @returns its end */
export async function runAloud(
  api: ApiClient,
  id: SessionId,
  {
    spec,
    say,
    signal,
  }: {
    spec: CommandSpec
    say: (stream: 'stdout' | 'stderr', text: string) => Promise<void>
    signal: AbortSignal
  },
): Promise<Pick<Ran, 'exitCode' | 'reason'>> {
  const { id: commandId } = await api.runCommand({ params: { id }, body: spec })
  const params = { id, commandId }
  const kill = () => void api.endCommand({ params }).catch(() => undefined)
  signal.addEventListener('abort', kill, { once: true })
  try {
    if (signal.aborted) kill()
    await Promise.all(
      (['stdout', 'stderr'] as const).map(async stream => {
        let offset = 0
        for (let ended = false; !ended;) {
          const part = await api.readCommandOutput({ params, query: { stream, offset, waitSeconds: WAIT_SECONDS } })
          if (part.text !== '') await say(stream, part.text)
          offset = part.next
          ended = part.ended
        }
      }),
    )
    const { exitCode, reason } = await api.getCommand({ params, query: { waitSeconds: WAIT_SECONDS } })
    return { exitCode, reason: reason ?? 'lost' }
  } finally {
    signal.removeEventListener('abort', kill)
  }
}
