import { once } from 'node:events'
import { chmod, lstat, mkdir, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { LOCAL_SOCKET_HEADER, LOCAL_SOCKETS, localSocketDirectories } from '#proxy/contract'
import { type Log } from '../log.ts'
import { type LocalCodes, type ProofLevel } from './local-codes.ts'
import { createTurnstile } from './turnstile.ts'

const MOST_CONNECTIONS = 64
const REQUEST_MS = 5_000

/**
 * Sockets of the file system, at which `berth local CODE` confirms that the browser which shows the code runs on this computer.
 *
 * Threat model: whoever can open a socket of the file system can run programs here. A web page, another computer and a reverse proxy
 * cannot: they reach ports. Everybody may use the first socket, so it reveals no secret: it only answers for a code that the client already
 * knows, with the address of the person who asked for it, and a confirmation helps only the browser that shows the code. The second lies in
 * a directory that only our account can enter (0700), so a client there could have a code of the link as well (`this-computer.ts`). If
 * another user has taken our directory's name, there is no socket, and only `berth up`'s link remains. A socket of that user learns codes,
 * which are of no use in another browser. Remaining risk: a person may be talked into confirming the code of somebody else. So the command
 * names the person who asked, and refuses a browser whose connection another user of the system has opened (`network/peer-uid.ts`), such as
 * the one of a reverse proxy.
 */
export async function openLocalSockets(options: {
  readonly port: number
  readonly codes: Pick<LocalCodes, 'find' | 'confirm'>
  readonly log: Log
  /** Runtime directory that systemd made for the service. */
  readonly runtimeDirectory: string | undefined
}): Promise<AsyncDisposable | undefined> {
  const { port, codes, log, runtimeDirectory } = options
  const uid = process.getuid?.()
  if (uid === undefined) return undefined
  const [service = '', person = ''] = localSocketDirectories(port)
  const directory = runtimeDirectory === dirname(service) ? service : person
  await using stack = new AsyncDisposableStack()
  try {
    await makeOwn(directory, uid, 0o755)
    stack.defer(() => rm(directory, { recursive: true, force: true }))
    await makeOwn(join(directory, dirname(LOCAL_SOCKETS.account)), uid, 0o700)
    const levels = { account: 'account', everyone: 'computer' } as const
    for (const who of ['account', 'everyone'] as const) {
      const server = createServer((request, response) => answer(request, response, codes, levels[who]))
      stack.defer(() => closed(server))
      await listenAt(server, join(directory, LOCAL_SOCKETS[who]), who === 'account' ? 0o600 : 0o666)
    }
    return stack.move()
  } catch (error) {
    log.warn(
      { directory, error: String(error) },
      'browsers of other users cannot prove that they run here by "berth local"',
    )
    return undefined
  }
}

/** Makes a directory, or takes over one that an earlier process of ours left. @throws for one of somebody else, and for a link */
async function makeOwn(directory: string, uid: number, mode: number): Promise<void> {
  await mkdir(directory, { mode }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  })
  const found = await lstat(directory)
  if (!found.isDirectory() || found.uid !== uid) throw new Error(`${directory} belongs to another user`)
  await chmod(directory, mode)
}

async function listenAt(server: Server, path: string, mode: number): Promise<void> {
  // Everybody on this computer may connect and stay silent.
  const turnstile = createTurnstile<Socket>({
    most: MOST_CONNECTIONS,
    bytesOf: ({ bytesRead, bytesWritten }) => bytesRead + bytesWritten,
  })
  server.on('connection', (socket: Socket) => turnstile.enter('', socket))
  server.headersTimeout = REQUEST_MS
  server.requestTimeout = REQUEST_MS
  server.timeout = REQUEST_MS
  await rm(path, { force: true })
  server.listen(path)
  await once(server, 'listening')
  await chmod(path, mode)
}

async function closed(server: Server): Promise<void> {
  server.close()
  server.closeAllConnections()
  if (server.listening) await once(server, 'close')
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  codes: Pick<LocalCodes, 'find' | 'confirm'>,
  level: ProofLevel,
): void {
  request.resume()
  const code = /^\/codes\/([0-9A-Za-z-]{1,20})$/.exec(request.url ?? '')?.[1]
  const send = (status: number, body?: object) => {
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
    response.end(body && JSON.stringify(body))
  }
  if (request.headers[LOCAL_SOCKET_HEADER] === undefined || code === undefined) send(400)
  else if (request.method === 'POST') send(codes.confirm(code, level) ? 204 : 404)
  else {
    const asked = codes.find(code)
    send(asked ? 200 : 404, asked)
  }
}
