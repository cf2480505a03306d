/** The real manager's half of the path: an HTTP server and the tunnel gateway; only sessions and grants are simulated. */
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { AppError } from '#manager/contract'
import { createTunnelGateway } from '../../manager/tunnels/gateway.ts'
import { AGENT, DATA_TOKEN, GRANT, KERNEL, LOGIN, OWNER } from './tunnel-names.ts'
import { serveMemory } from './tunnel-memory.ts'

const gateway = createTunnelGateway({
  locate: () =>
    Promise.resolve({
      agentId: AGENT,
      kernelId: KERNEL,
      status: 'RUNNING',
      apps: [{ name: 'bench' }],
      ownerId: OWNER,
      domain: 'default',
    }),
  verifyGrant: grant =>
    grant === GRANT
      ? Promise.resolve({ loginId: LOGIN, userId: OWNER, isPublic: false })
      : Promise.reject(new AppError('grant_invalid')),
  authenticateUpgrade: () => Promise.reject(new AppError('not_signed_in')),
  isCredentialValid: () => Promise.resolve(false),
  agents: {
    reach: () => Promise.resolve(),
    verifyDataToken: token => (token === DATA_TOKEN ? AGENT : undefined),
    verifyDataProof: () => undefined,
  },
})
const server = createServer()
server.on('upgrade', (request, socket, head) => void gateway.handle(request, socket, head))
server.listen(0, '127.0.0.1', 4096, () => process.send?.({ port: (server.address() as AddressInfo).port }))
serveMemory()
