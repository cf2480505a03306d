import { spawn } from 'node:child_process'
import { flushCompileCache } from 'node:module'
import { constants } from 'node:os'

/**
 * Becomes `berth` where the system can replace a process (POSIX), so that nothing stands between it and the terminal; elsewhere runs
 * it as a child with our streams and gives its exit code.
 */
export async function runBerth(
  script: string,
  args: readonly string[],
  environment: Record<string, string>,
): Promise<number> {
  const env = { ...process.env, ...environment }
  const command = ['--disable-warning=ExperimentalWarning', script, ...args]
  if (process.execve !== undefined && process.platform !== 'win32') {
    // What a process leaves behind at its exit, it must do now.
    flushCompileCache()
    // Node calls execve experimental, on every call; that is nothing for users.
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
