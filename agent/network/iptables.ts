import { type ChildProcess, execFile, type ExecFileException } from 'node:child_process'
import { delimiter } from 'node:path'
import { AppError, type Because, because } from '#manager/contract'

export type IptablesProgram = 'iptables' | 'iptables-restore' | 'iptables-save'

/** Access to the packet filter of the network that has the engine's bridges. */
export interface Iptables {
  /** Pause between two checks of the rules, if a check is expensive. */
  readonly checkEveryMs?: number
  /** @throws the reason why the rules cannot be changed from here at all */
  check(): void
  /** @returns standard output @throws the reason, in `because` */
  run(program: IptablesProgram, args: readonly string[], input?: string): Promise<string>
}

const TIMEOUT_MS = 10_000
/** A host with many published ports has thousands of rules. */
export const MAX_RULES_BYTES = 64 * 2 ** 20

/**
 * The programs of this machine. They run without a shell: the words of a rule are arguments.
 *
 * @param prefix a command that runs them in another network, e.g. `nsenter --net=…`
 */
export function hostIptables(prefix: readonly string[] = []): Iptables {
  return {
    check() {
      if (process.platform !== 'linux') throw new AppError('unavailable', because('no_iptables_here'))
      if (process.getuid?.() !== 0) throw new AppError('unavailable', because('agent_not_root'))
    },
    run(program, args, input) {
      const [command = program, ...words] = [...prefix, program, ...args]
      return new Promise((resolve, reject) => {
        const child: ChildProcess = execFile(
          command,
          words,
          { timeout: TIMEOUT_MS, maxBuffer: MAX_RULES_BYTES, env: withRootsPrograms(process.env) },
          (error, stdout, stderr) => {
            if (error) reject(new AppError('unavailable', howItFailed(program, error, stderr), { cause: error }))
            else resolve(stdout)
          },
        )
        // A program that is missing, or ends early, does not read its input; its exit reports the error.
        child.stdin?.on('error', () => undefined)
        child.stdin?.end(input ?? '')
      })
    },
  }
}

/** Adds the folders of root's programs, which many root shells lack in their PATH. */
export function withRootsPrograms(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, PATH: [env.PATH, '/usr/local/sbin', '/usr/sbin', '/sbin'].filter(Boolean).join(delimiter) }
}

/** A program that was killed prints nothing, so its signal or exit code is all there is to report. */
function howItFailed(program: string, { code, signal, killed, message }: ExecFileException, stderr: string): Because {
  if (code === 'ENOENT') return because('iptables_not_installed')
  if (killed && typeof code !== 'string') return because('iptables_silent', { program, seconds: TIMEOUT_MS / 1000 })
  if (signal) return because('iptables_signal', { program, signal })
  const said = stderr.trim().split('\n').slice(0, 2).join(' ')
  if (said !== '') return because('iptables_says', { text: said })
  return typeof code === 'number'
    ? because('iptables_exit', { program, code })
    : because('iptables_says', { text: message })
}
