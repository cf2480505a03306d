import { connect, type Socket } from 'node:net'
import { type DirectAddress, forwardedPort, PING_INTERVAL_MS, type TunnelCloseReason } from '#manager/contract'
import { readOnAfterReset, type TunnelSocket } from '#manager/tunnel-end'
import { type Engine, openRelay } from './relay.ts'

export { type Engine } from './relay.ts'

/** The part of a running kernel needed to connect into it. */
export interface KernelAddress {
  readonly kernelId: string
  readonly sessionId: string
  readonly containerId: string
  readonly address: string
  readonly user: string
  readonly apps: readonly { readonly name: string; readonly port: number }[]
}

export interface Services {
  find(kernelId: string): KernelAddress | undefined
  /** Starts the app unless it is running. @throws if it does not start */
  ensureApp(kernelId: string, app: string): Promise<unknown>
}

/** Means to reach apps from here. */
export interface Reach {
  readonly docker: Engine
  /** Whether the containers are in a network namespace that connections from here cannot reach. */
  readonly isElsewhere?: (() => boolean) | undefined
}

/** Error for a service that could not be reached; `reason` is the close reason of the tunnel. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly reason: TunnelCloseReason

  constructor(reason: TunnelCloseReason, options?: ErrorOptions) {
    super(reason, options)
    this.reason = reason
  }
}

const DIAL_TIMEOUT_MS = 5_000

/** Containers and ports that listen on their loopback only; for them the relay is tried first until it fails. */
const loopbackOnly = new Set<string>()
const MAX_REMEMBERED = 1000

/** Address and port of an app to which a process of this computer may connect; undefined if only the agent can reach it. */
export function addressOf(kernel: KernelAddress, app: string, { isElsewhere }: Reach): DirectAddress | undefined {
  const port = portOf(kernel, app)?.port
  if (port === undefined || isElsewhere?.() || loopbackOnly.has(`${kernel.containerId}:${port}`)) return undefined
  return { host: kernel.address, port }
}

function portOf({ apps }: KernelAddress, app: string): KernelAddress['apps'][number] | undefined {
  return apps.find(({ name }) => name === app) ?? forwardedPort(app)
}

/**
 * Connects to an app of a kernel at the container's address. If the connection is refused, the app is started unless it is
 * running. If it is still refused, the app may listen on the container's loopback only, which a relay inside the container
 * reaches. If the containers are in another network namespace, only the relay is used.
 *
 * @throws ServiceError `app_not_ready` (no such app, or it does not start), `refused`, `dial_timeout`
 */
export async function dialService(options: {
  kernels: Services
  reach: Reach
  kernel: KernelAddress
  app: string
}): Promise<TunnelSocket> {
  const { kernels, reach, kernel } = options
  const app = portOf(kernel, options.app)
  if (!app) throw new ServiceError('app_not_ready')
  if (reach.isElsewhere?.()) return await dialInside(options, app)
  const key = `${kernel.containerId}:${app.port}`
  if (!loopbackOnly.has(key)) {
    const direct = await dial(kernel.address, app.port)
    if (direct) return direct
    await kernels.ensureApp(kernel.kernelId, app.name).catch((error: unknown) => {
      throw new ServiceError('app_not_ready', { cause: error })
    })
    const again = await dial(kernel.address, app.port)
    if (again) return again
  }
  try {
    const relayed = await openRelay(reach.docker, kernel, app.port)
    if (loopbackOnly.size >= MAX_REMEMBERED) loopbackOnly.clear()
    loopbackOnly.add(key)
    return relayed
  } catch (error) {
    if (loopbackOnly.delete(key)) return dialService(options)
    throw new ServiceError('refused', { cause: error })
  }
}

async function dialInside(
  { kernels, reach, kernel }: { kernels: Services; reach: Reach; kernel: KernelAddress },
  { name, port }: KernelAddress['apps'][number],
): Promise<TunnelSocket> {
  const running = await openRelay(reach.docker, kernel, port).catch(() => undefined)
  if (running) return running
  await kernels.ensureApp(kernel.kernelId, name).catch((error: unknown) => {
    throw new ServiceError('app_not_ready', { cause: error })
  })
  return await openRelay(reach.docker, kernel, port).catch((error: unknown) => {
    throw new ServiceError('refused', { cause: error })
  })
}

/** @returns undefined if the connection is refused @throws ServiceError `dial_timeout`, `refused` for any other failure */
function dial(host: string, port: number): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const keepAlive = { noDelay: true, keepAlive: true, keepAliveInitialDelay: PING_INTERVAL_MS }
    const socket = connect({ host, port, allowHalfOpen: true, ...keepAlive })
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new ServiceError('dial_timeout'))
    }, DIAL_TIMEOUT_MS)
    const onError = (error: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      if (error.code === 'ECONNREFUSED') resolve(undefined)
      else reject(new ServiceError('refused', { cause: error }))
    }
    socket.once('error', onError)
    socket.once('connect', () => {
      clearTimeout(timer)
      socket.off('error', onError)
      readOnAfterReset(socket)
      resolve(socket)
    })
  })
}
