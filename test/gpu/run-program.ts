import { spawn } from 'node:child_process'

export interface Output {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program and collects its output; the signal kills it. Rejects only if it cannot be started. */
export async function runProgram(
  program: string,
  args: readonly string[],
  { signal, env, input = '' }: { signal?: AbortSignal; env?: NodeJS.ProcessEnv; input?: string } = {},
): Promise<Output> {
  const child = spawn(program, args, { env, stdio: 'pipe' })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()))
  child.stdin.on('error', () => undefined).end(input)
  const kill = () => child.kill('SIGKILL')
  signal?.addEventListener('abort', kill)
  try {
    const code = await new Promise<number | null>((done, fail) => {
      child.once('error', fail)
      // A program may leave others behind that hold its streams.
      child.once('exit', exit => setTimeout(() => done(exit), 50))
    })
    return { code, ...output }
  } finally {
    signal?.removeEventListener('abort', kill)
  }
}
