/**
 * Clients that open tunnels at the manager, send one message through each, and then keep them silent. The parent sends the
 * sessions and the number of tunnels, and is told when all are open. `node crowd-clients.ts MANAGER_URL`
 */
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { GRANT_HEADER, TUNNEL_PROTOCOL } from '#manager/contract'
import { APP } from './crowd-image.ts'

export interface Wanted {
  readonly doors: readonly { readonly sessionId: string; readonly grant: string }[]
  readonly tunnels: number
}

const AT_ONCE = 50
const [managerUrl = ''] = process.argv.slice(2)
const open: WebSocket[] = []
let lost = 0

async function openTunnel({ sessionId, grant }: Wanted['doors'][number]): Promise<void> {
  const url = `${managerUrl.replace('http', 'ws')}/stream/session/${sessionId}/tcpproxy?app=${APP}`
  const socket = new WebSocket(url, TUNNEL_PROTOCOL, { headers: { [GRANT_HEADER]: grant }, perMessageDeflate: false })
  await once(socket, 'open')
  socket.send(Buffer.from('Eping'))
  // Before the echo comes the frame that says that the service accepted the connection.
  await new Promise<void>((resolve, reject) => {
    socket.on('message', (_data, isBinary) => {
      if (isBinary) resolve()
    })
    socket.once('close', () => {
      lost++
      reject(new Error('a tunnel was closed'))
    })
  })
  open.push(socket)
}

process.on('message', ({ doors, tunnels }: Wanted) => {
  let next = 0
  const worker = async () => {
    while (next < tunnels) {
      const door = doors[next++ % doors.length]
      if (door) await openTunnel(door)
    }
  }
  void Promise.all(Array.from({ length: AT_ONCE }, worker)).then(() => process.send?.({ open: open.length, lost }))
})
process.on('disconnect', () => process.exit(0))
process.send?.({ port: 0 })
