import { createKeyedMutex } from '#base/mutex'
import { type KernelApp, type KernelSsh } from '#agent/contract'
import { AppError, because } from '#manager/contract'
import { TOOLBOX } from '../docker/container-config.ts'
import { type EngineClient } from '../docker/engine-client.ts'
import { runInside } from '../docker/run-inside.ts'
import { type ServiceCommand } from '../images/service-definition.ts'
import { type KernelFiles } from './kernel-files.ts'
import { type RunningKernel } from '../running-kernel.ts'

/** Directory in the container; every container has /dev/shm, which is deleted with the container. */
const DIRECTORY = '/dev/shm/.berth-ssh'
const CONFIG = `${TOOLBOX}/etc/sshd_config`
/** Exit status of CHECK if the keys that we placed in the container are not there. */
const KEYS_GONE = 3

/**
 * Shell functions: `listeners TEXT` prints the process ids of SSH servers whose arguments continue with the text;
 * `end_listeners TEXT` ends them, and fails if one is still there after 5 seconds.
 */
const LISTENERS = `listeners() {
  for process in /proc/[0-9]*; do
    case $(tr '\\0' ' ' < $process/cmdline 2> /dev/null) in
      'sshd: '*" -f ${CONFIG} $1"*'[listener]'*) echo \${process#/proc/} ;;
    esac
  done
}
end_listeners() {
  kill $(listeners "$1") 2> /dev/null
  for try in $(seq 50); do [ -n "$(listeners "$1")" ] || return 0; sleep 0.1; done
  return 1
}
`

/**
 * Shell script that places the keys, passed as variables so that no argument holds a secret. Then it ends the old server, which
 * holds the lost host key and accepts no logins any more. Open connections have their own processes, and stay.
 */
const PLACE = `${LISTENERS}
umask 077
rm -rf ${DIRECTORY} && mkdir ${DIRECTORY} || exit 1
printf '%s' "$HOST_KEY" > ${DIRECTORY}/host_key && printf '%s\\n' "$AUTHORIZED_KEY" > ${DIRECTORY}/authorized_keys || exit 1
end_listeners ''`

/**
 * Shell script that ends a server with the keys of another agent that had this container in the meantime. Exits with status 3
 * if our new keys are gone.
 */
const CHECK = `${LISTENERS}
[ "$(cat ${DIRECTORY}/authorized_keys 2> /dev/null)" != "$AUTHORIZED_KEY" ] || exit 0
end_listeners '-o HostKey=${DIRECTORY}/' || exit 1
[ "$IS_RENEWED" = no ] || exit 3`

/**
 * SSH for containers whose control files are lost with the data directory of an earlier agent (`berth agent --replace`, a
 * restore): the mount at /run/berth is a deleted folder then. The agent makes new keys, puts them into the container, and
 * starts the server with them.
 *
 * Threat model: the session's user can read the keys, as with the old ones; they open this session only. Clients get the new
 * host key from the manager, over a connection that they trust. Further keys that the user had authorised are lost.
 */
export interface SshRenewal {
  /** The keys of a kernel, matching those of its server; creates new ones if they are lost. @throws `app_failed` if that is impossible */
  keysOf(kernel: RunningKernel): Promise<KernelSsh>
  /** Records that this process created the kernel, so its keys are the current ones. */
  settle(kernelId: string): void
  forget(kernelId: string): void
  /** Command that starts the server of a kernel with new keys; undefined for all others. */
  commandOf(kernel: RunningKernel, app: KernelApp): Promise<ServiceCommand | undefined>
}

export function createSshRenewal(deps: {
  readonly engine: EngineClient
  readonly files: Pick<KernelFiles, 'readSsh' | 'renewSsh' | 'isSshRenewed'>
}): SshRenewal {
  const { engine, files } = deps
  const inTurn = createKeyedMutex()

  /** Kernels whose server is known to have our keys. */
  const settled = new Set<string>()

  async function run(kernel: RunningKernel, script: string, environment: Record<string, string>): Promise<number> {
    const { output, exitCode } = await runInside(engine, kernel, {
      command: [`${TOOLBOX}/bin/busybox`, 'sh', '-c', script],
      environment: { PATH: `${TOOLBOX}/applets`, ...environment },
    })
    if (exitCode === 0 || exitCode === KEYS_GONE) return exitCode
    throw new AppError('app_failed', { app: 'sshd', ...because('ssh_keys_not_renewed', { output }) })
  }

  async function hasOurKeys(kernel: RunningKernel, { publicKey }: KernelSsh): Promise<boolean> {
    const isRenewed = (await files.isSshRenewed(kernel.kernelId)) ? 'yes' : 'no'
    return (await run(kernel, CHECK, { AUTHORIZED_KEY: publicKey, IS_RENEWED: isRenewed })) === 0
  }

  async function keysOf(kernel: RunningKernel): Promise<KernelSsh> {
    const { kernelId } = kernel
    const known = await files.readSsh(kernelId)
    if (known && (settled.has(kernelId) || (await hasOurKeys(kernel, known)))) return known
    return files.renewSsh(kernelId, async (hostKey, authorizedKey) => {
      await run(kernel, PLACE, { HOST_KEY: hostKey, AUTHORIZED_KEY: authorizedKey })
    })
  }

  return {
    keysOf: kernel =>
      inTurn(kernel.kernelId, async () => {
        const keys = await keysOf(kernel)
        settled.add(kernel.kernelId)
        return keys
      }),
    settle: kernelId => void settled.add(kernelId),
    forget: kernelId => void settled.delete(kernelId),
    async commandOf({ kernelId, containerId }, app) {
      if (!(await files.isSshRenewed(kernelId))) return undefined
      const { Config } = await engine.calls.getContainer(containerId).inspect()
      // The file with the login environment is lost as well; the container's own environment has the same lines.
      const environment = Config.Env.filter(line => !/[\r\n"\\]/.test(line)).map(line => `"${line}"`)
      const options = [
        `HostKey=${DIRECTORY}/host_key`,
        `AuthorizedKeysFile=${DIRECTORY}/authorized_keys .ssh/authorized_keys`,
        `SetEnv=${environment.join(' ')}`,
      ].flatMap(option => ['-o', option])
      const command = [`${TOOLBOX}/bin/sshd`, '-D', '-e', '-f', CONFIG, ...options, '-p', String(app.port)]
      return { command, environ: { LD_PRELOAD: '', LD_LIBRARY_PATH: '' } }
    },
  }
}
