import { createServer } from 'node:net'
import { portOf } from '../../port-of.ts'
import { type ConsolePort } from '../facts.ts'

/** @param ownUrl URL of the Berth that runs with this data directory */
export async function lookAtPort(port: number, ownUrl: string | undefined): Promise<ConsolePort> {
  // A running Berth has its port already; the port of a further start does not matter.
  if (ownUrl !== undefined) return { port: portOf(ownUrl), status: 'ours' }
  const free = (await canListen(port, '127.0.0.1')) && (await canListen(port, '::1'))
  return { port, status: free ? 'free' : 'taken' }
}

/** Whether the port is free at this address; an address that the machine does not have counts as free. */
function canListen(port: number, host: string): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) =>
      resolve(!['EADDRINUSE', 'EACCES'].includes(error.code ?? '')),
    )
    server.listen(port, host, () => server.close(() => resolve(true)))
  })
}
