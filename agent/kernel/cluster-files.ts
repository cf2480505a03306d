import { SSHD_PORT } from '#agent/contract'
import { clusterRoles } from '#manager/contract'
import { HOSTFILE } from '../docker/cluster-environment.ts'

/** Directory in the container with the files of its kernel. */
const CONTROL = '/run/berth'
/** Names of the files in it. */
export const CLUSTER_FILES = { login: 'id_cluster', known: 'known_hosts', wait: 'wait-for', hosts: HOSTFILE } as const
/** Longest time that a login waits for a kernel that has not started: the engine of another host may still be pulling the image. */
const WAIT_SECONDS = 300
const BUSYBOX = '/opt/berth/bin/busybox'

/** The part of a kernel that its files for the others of its session depend on. */
export interface Cluster {
  /** Number of kernels of the session. */
  readonly size: number
  /** Programs of MPI that each kernel runs: one for each of its GPUs, or else for each of its cores. */
  readonly slots: number
}

/**
 * Settings of the SSH client for logins among the kernels of a session, before those of the image. The client takes the first value of each
 * setting, so this part wins, and everything else stays as the image has it.
 *
 * @param image /etc/ssh/ssh_config of the image; empty if there is none
 */
export function sshConfig({ size }: Cluster, image: string): string {
  const names = clusterRoles(size)
  return `# Made by Berth: the containers of this session reach each other without a password.
Host ${names.join(' ')}
  Port ${SSHD_PORT}
  User work
  IdentityFile ${CONTROL}/${CLUSTER_FILES.login}
  IdentitiesOnly yes
  UserKnownHostsFile ${CONTROL}/${CLUSTER_FILES.known}
  StrictHostKeyChecking yes
# A container may start a little later than the others.
Match originalhost ${names.join(',')} exec "${BUSYBOX} sh ${CONTROL}/${CLUSTER_FILES.wait} %h"
Host *
${image}`
}

/** Line of known_hosts for all kernels of the session, which have one host key. */
export function knownHosts({ size }: Cluster, hostKey: string): string {
  const [type, key] = hostKey.split(' ')
  return `${clusterRoles(size)
    .map(name => `[${name}]:${SSHD_PORT}`)
    .join(',')} ${type} ${key}\n`
}

/** The list of hosts in the format of Open MPI. */
export const hostfile = ({ size, slots }: Cluster) =>
  clusterRoles(size)
    .map(name => `${name} slots=${slots}\n`)
    .join('')

/** Shell script that waits until the SSH server of the named kernel answers. */
export const WAIT_FOR = `said= tries=0
until ${BUSYBOX} nc -w 2 "$1" ${SSHD_PORT} < /dev/null > /dev/null 2>&1; do
  tries=$((tries + 1))
  [ $tries -lt ${WAIT_SECONDS} ] || exit 1
  [ $tries -lt 5 ] || [ -n "$said" ] || { said=yes; echo "Waiting for $1, which does not answer yet." >&2; }
  ${BUSYBOX} sleep 1
done
`
