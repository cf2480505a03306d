import { type KernelSpec } from '#agent/contract'
import { clusterRoles } from '#manager/contract'

/** File in /run/berth with the kernels of the session, for MPI. */
export const HOSTFILE = 'hostfile'
/** Interface of a kernel in the network between hosts: the second one, because the engine connects the network of the container first. */
const CLUSTER_INTERFACE = 'eth1'
/** Variables by which NCCL, Gloo, and Open MPI with its launcher, in versions 4 and 5, learn the interface to use. */
const INTERFACE_NAMES = [
  'NCCL_SOCKET_IFNAME',
  'GLOO_SOCKET_IFNAME',
  'OMPI_MCA_btl_tcp_if_include',
  'OMPI_MCA_oob_tcp_if_include',
  'PRTE_MCA_prte_if_include',
] as const
/** Port on which programs of PyTorch meet, unless they are told another one. */
const MASTER_PORT = 29_500

export const isCluster = ({ clusterSize = 1 }: Pick<KernelSpec, 'clusterSize'>) => clusterSize > 1

/** Variables with the names under which the kernels of one session find each other, on the network that they alone share. */
export function clusterEnvironment(spec: KernelSpec): Record<string, string> {
  if (!isCluster(spec)) return {}
  const { clusterSize = 1, role } = spec
  return {
    BERTH_CLUSTER_SIZE: String(clusterSize),
    BERTH_CLUSTER_ROLE: role,
    BERTH_CLUSTER_HOSTS: clusterRoles(clusterSize).join(','),
    BERTH_CLUSTER_INDEX: indexOf(spec),
    BERTH_CLUSTER_HOSTFILE: `/run/berth/${HOSTFILE}`,
    ...namesOfBackendAi(role, clusterSize),
  }
}

const indexOf = ({ clusterSize = 1, role }: KernelSpec) => String(clusterRoles(clusterSize).indexOf(role))

/** Names of the same facts in sessions of Backend.AI, whose programs then run unchanged. */
function namesOfBackendAi(role: string, size: number): Record<string, string> {
  const [, kind = '', index = '1'] = /^([a-z]+)(\d+)$/.exec(role) ?? []
  return {
    BACKENDAI_CLUSTER_SIZE: String(size),
    BACKENDAI_CLUSTER_REPLICAS: `main:1,sub:${size - 1}`,
    BACKENDAI_CLUSTER_HOSTS: clusterRoles(size).join(','),
    BACKENDAI_CLUSTER_ROLE: kind,
    BACKENDAI_CLUSTER_IDX: index,
    BACKENDAI_CLUSTER_HOST: role,
  }
}

/**
 * Settings of frameworks for programs on several kernels. They are advice: variables of the user and of the image have precedence.
 *
 * Between hosts, only the second interface leads to the other kernels. The first ones have addresses that several hosts use, so a library
 * that tries all interfaces finds a stranger there, or nobody.
 */
export function clusterAdvice(spec: KernelSpec, isSet: (name: string) => boolean): Record<string, string> {
  if (!isCluster(spec)) return {}
  const [main = ''] = clusterRoles(1)
  const meeting = {
    MASTER_ADDR: main,
    MASTER_PORT: String(MASTER_PORT),
    NNODES: String(spec.clusterSize),
    NODE_RANK: indexOf(spec),
  }
  const names = spec.cluster ? INTERFACE_NAMES : []
  const network = Object.fromEntries(names.map(name => [name, CLUSTER_INTERFACE]))
  return Object.fromEntries(Object.entries({ ...meeting, ...network }).filter(([name]) => !isSet(name)))
}
