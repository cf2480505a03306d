import { spawn } from 'node:child_process'
import { flushCompileCache } from 'node:module'
import { constants } from 'node:os'

/**
 * Replaces this process by `berth` where the system supports that (POSIX), so that no process stands between it and the
 * terminal; elsewhere runs it as a child with our streams and returns its exit code.
 */
export async function runBerth(
  script: string,
  args: readonly string[],
  environment: Record<string, string>,
): Promise<number> {
  const env: NodeJS.ProcessEnv = { ...process.env, ...environment }
  // `bin/berth` goes on following what `npm start` runs in.
  if (process.env.npm_lifecycle_event !== undefined) env.BERTH_LAUNCHED = '1'
  const command = ['--disable-warning=ExperimentalWarning', script, ...args]
  if (process.execve !== undefined && process.platform !== 'win32') {
    // Normally done when a process exits, so it must be done now.
    flushCompileCache()
    // Node warns on every call that execve is experimental, which does not help users.
    process.removeAllListeners('warning')
    process.execve(process.execPath, [process.execPath, ...command], env)
  }
  const child = spawn(process.execPath, command, { env, stdio: 'inherit' })
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (name !== 'SIGINT' || !process.stdin.isTTY) child.kill(name)
    })
  }
  return await new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      resolve(signal === null ? (code ?? 1) : 128 + constants.signals[signal])
    })
  })
}
