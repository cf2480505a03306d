/**
 * The real proxy's half of the path: a listener whose connections become tunnels. `node tunnel-proxy.ts MANAGER_URL [SESSION
 * GRANT APP KEY]`, with the key of the direct path if it is asked for
 */
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { GRANT_HEADER, SessionId } from '#manager/contract'
import { dialLine, DirectLine } from '../../proxy/dial/dial-line.ts'
import { createDirectPath } from '../../proxy/dial/direct-path.ts'
import { createKeptWires } from '../../proxy/dial/kept-wires.ts'
import { pipeDirect, pipeTunnel } from '../../proxy/dial/pipe.ts'
import { GRANT, SESSION } from './tunnel-names.ts'
import { serveMemory } from './tunnel-memory.ts'

const [managerUrl = '', session = SESSION, grant = GRANT, app = 'bench', key] = process.argv.slice(2)
const options = {
  managerUrl,
  sessionId: SessionId.parse(session),
  app,
  headers: { [GRANT_HEADER]: grant },
  lasting: true,
}
const direct = key === undefined ? undefined : createDirectPath(key)
const kept = createKeptWires()
const server = createServer({ allowHalfOpen: true, noDelay: true }, client => {
  client.on('error', () => undefined)
  client.pause()
  carry(client).catch((error: unknown) => {
    console.error(String(error))
    client.resetAndDestroy()
  })
})

async function carry(client: Socket) {
  const outcome = await kept.carry(client)
  if (outcome) return outcome
  const line = await dialLine(options, direct)
  return await (line instanceof DirectLine ? pipeDirect(client, line, kept) : pipeTunnel(client, line, kept))
}

server.listen(0, '127.0.0.1', 4096, () => process.send?.({ port: (server.address() as AddressInfo).port }))
serveMemory()
