import { isAppError } from '#manager/contract'
import { listenOnLoopback } from '#proxy/listen-at'
import { portOf } from '../../port-of.ts'
import { type ConsolePort } from '../facts.ts'

/** @param ownUrl URL of the Berth that runs with this data directory */
export async function probePort(port: number, ownUrl: string | undefined): Promise<ConsolePort> {
  // A running Berth has its port already; the port of a further start does not matter.
  if (ownUrl !== undefined) return { port: portOf(ownUrl), status: 'ours' }
  return { port, status: await statusOf(port) }
}

async function statusOf(port: number): Promise<ConsolePort['status']> {
  try {
    const listener = await listenOnLoopback({ port, onConnection: socket => socket.destroy() })
    await listener.close()
    return 'free'
  } catch (error) {
    if (isAppError(error) && error.code === 'port_in_use') return 'taken'
    if (isAppError(error) && error.code === 'port_not_allowed') return 'reserved'
    throw error
  }
}
