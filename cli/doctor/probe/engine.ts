import { readFile, statfs } from 'node:fs/promises'
import Docker, { type NetworkInspectInfo } from 'dockerode'
import { z } from 'zod'
import { GpuInfo, gpuNamesOf, isPodman } from '#agent/contract'
import { type Engine, type GpuFacts } from '../facts.ts'

const TIMEOUT_MS = 5_000

/** Engines leave out fields that they do not know. */
const Info = z.object({
  LiveRestoreEnabled: z.boolean().default(false),
  CgroupVersion: z.string().default('1'),
  Driver: z.string().default(''),
  DockerRootDir: z.string().default(''),
  FirewallBackend: z.object({ Driver: z.string() }).nullish(),
  ...GpuInfo.shape,
})

const parseInfo = (reply: unknown) => Info.parse(reply)

/**
 * Queries the engine; changes nothing on it.
 *
 * @param dockerHost default: DOCKER_HOST, else the engine of this machine
 */
export async function probeEngine(dockerHost?: string, toolbox = 'berth/toolbox:latest'): Promise<Engine> {
  try {
    const docker = new Docker({ ...addressOf(dockerHost), timeout: TIMEOUT_MS })
    const rawInfo: Promise<unknown> = docker.info()
    const [version, info, images, networks, routes] = await Promise.all([
      docker.version(),
      rawInfo.then(parseInfo),
      docker.listImages(),
      docker.listNetworks(),
      readFile('/proc/net/route', 'utf8').catch(() => undefined),
    ])
    return {
      status: 'reachable',
      version: version.Version,
      apiVersion: version.ApiVersion,
      // Engines of another make leave the list out.
      isPodman:
        (version.Components as typeof version.Components | undefined)?.some(({ Name }) => isPodman(Name)) ?? false,
      liveRestore: info.LiveRestoreEnabled,
      cgroupVersion: info.CgroupVersion,
      storageDriver: info.Driver,
      rootDirectory: info.DockerRootDir,
      rootFreeBytes: await freeBytes(info.DockerRootDir),
      firewallBackend: info.FirewallBackend?.Driver,
      hasBridgesHere: hasBridgesHere(networks, routes),
      gpus: gpuFacts(info, version.ApiVersion),
      toolbox: { image: toolbox, present: images.some(image => (image.RepoTags ?? []).includes(toolbox)) },
      sessionImages: images.filter(image => offersSomething(image.Labels)).length,
    }
  } catch (error) {
    return { status: 'unreachable', why: error instanceof Error ? error.message : String(error) }
  }
}

/** Devices are listed from API 1.50 on; directories of CDI are named from 1.44 on, and none where CDI is off. */
function gpuFacts({ DiscoveredDevices, CDISpecDirs, Runtimes }: GpuInfo, apiVersion: string): GpuFacts {
  const lists = isNewer(apiVersion, '1.50')
  return {
    cdi: CDISpecDirs?.length ? (lists ? 'listed' : 'unlisted') : isNewer(apiVersion, '1.44') ? 'off' : 'unknown',
    names: gpuNamesOf((DiscoveredDevices ?? []).map(({ ID }) => ID)),
    runtime: Object.hasOwn(Runtimes ?? {}, 'nvidia'),
  }
}

const isNewer = (version: string, least: string) => version.localeCompare(least, 'en', { numeric: true }) >= 0

function addressOf(dockerHost: string | undefined): Docker.DockerOptions {
  if (dockerHost === undefined) return {}
  const { protocol, pathname, hostname, port } = new URL(dockerHost)
  return protocol === 'unix:'
    ? { socketPath: pathname }
    : { protocol: 'http', host: hostname, port: Number(port || 2375) }
}

/**
 * Whether a bridge of the engine is in the table of routes of this network, as the agent looks at it too. Interfaces say less: a bridge
 * without a container is not listed among those that run.
 *
 * @param routes text of /proc/net/route; undefined if there is none
 */
export function hasBridgesHere(networks: readonly NetworkInspectInfo[], routes: string | undefined): boolean {
  const bridges = networks.filter(({ Driver }) => Driver === 'bridge').flatMap(({ IPAM }) => IPAM?.Config ?? [])
  const subnets = bridges.flatMap(({ Subnet = '' }) => (/^[0-9.]+\/[0-9]+$/.test(Subnet) ? [routeOf(Subnet)] : []))
  if (routes === undefined || subnets.length === 0) return true
  const here = new Set(
    routes
      .split('\n')
      .map(line => line.split('\t'))
      .map(columns => `${columns[1]} ${columns[7]}`),
  )
  return subnets.some(subnet => here.has(subnet))
}

/** Destination and mask as in /proc/net/route: hexadecimal, the last byte of the address first. */
function routeOf(subnet: string): string {
  const [address = '', bits] = subnet.split('/')
  const hex = (bytes: readonly number[]) => Buffer.from(bytes.toReversed()).toString('hex').toUpperCase()
  const mask = [0, 8, 16, 24].map(from => 256 - 2 ** (8 - Math.min(Math.max(Number(bits) - from, 0), 8)))
  return `${hex(address.split('.').map(Number))} ${hex(mask)}`
}

/** Whether these labels of an image say what it offers to sessions. Older engines reply with absent labels (null). */
function offersSomething(labels: Readonly<Record<string, string>> | null | undefined): boolean {
  return Object.keys(labels ?? {}).some(name => /^(berth\.image\.|ai\.backend\.)/.test(name))
}

export async function freeBytes(path: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(path)
    return bavail * bsize
  } catch {
    return undefined // not on this machine, or not readable for us
  }
}
