import { readFile } from 'node:fs/promises'
import { HOME } from '../docker/container-config.ts'

/**
 * Working directory for programs in a container: its home, or `/` if the home was deleted on the host while the container runs
 * (a lost data directory). No process can be started in a deleted folder.
 *
 * @param pid main process of the container on this host; 0 = unknown
 */
export async function startDirectory(pid: number): Promise<string> {
  if (pid === 0) return HOME
  const mounts = await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '') // the process has ended
  return isDeleted(mounts, HOME) ? '/' : HOME
}

/** Whether the mounted folder was deleted; the kernel marks the root of such a mount. @param mountinfo see proc_pid_mountinfo(5) */
export function isDeleted(mountinfo: string, mountPoint: string): boolean {
  return mountinfo.split('\n').some(line => {
    const [, , , root = '', at] = line.split(' ')
    return at === mountPoint && root.endsWith('//deleted')
  })
}
