import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { AppError } from '#manager/contract'
import { createMcpServer } from '#manager/mcp'
import { boundedResponse, fetchByEnvironment } from '#proxy/network'
import { connect } from '../config/connect.ts'
import { printable } from '../output.ts'
import { version } from '../version.ts'

/**
 * Serves the tools of Berth over standard input and output, until the client closes them.
 *
 * @throws AppError `not_signed_in`, `forbidden` (a token without `read`), `config_invalid`
 */
export async function serveMcp(): Promise<void> {
  const { api, endpoint, credentials } = await connect()
  const { accessToken: token } = await api.me()
  if (!token)
    throw new AppError('config_invalid', { why: 'BERTH_TOKEN is no access token: `berth token create` makes one.' })
  const reach = {
    baseUrl: endpoint,
    fetch: async (url: string, init: RequestInit) => boundedResponse(await fetchByEnvironment(url, init)),
    credentials: () => credentials({ method: 'GET', url: endpoint }),
  }
  const { promise: ended, resolve } = Promise.withResolvers<undefined>()
  const handle = serveStdio(() => createMcpServer({ reach, scopes: token.scopes, version }), {
    // Standard output belongs to the protocol.
    onerror: error => process.stderr.write(`${printable(`berth mcp: ${error.message}`)}\n`),
  })
  process.stdin.once('end', () => resolve(undefined))
  process.stdin.once('close', () => resolve(undefined))
  await ended
  await handle.close()
}
