import { type IncomingMessage, type ServerResponse } from 'node:http'
import { z, type ZodType } from 'zod'
import { AppError, because, ORIGIN_SECRET_HEADER, toWireError } from '#manager/contract'
import { type AppsState, LOCAL_CODE_PATH, LOCAL_PROOF_PATH, type LocalCode, type ProxyFault } from '#proxy/contract'
import {
  HOST_EVENTS_PATH,
  HOST_INPUTS,
  HOST_METHODS,
  type HostApi,
  type HostEvents,
  pathOf,
  type Reply,
  type SshKit,
  type Tunnel,
} from '#proxy/contract'
import { containedBy } from '../http/contain.ts'
import { whenUploaded } from '../http/when-uploaded.ts'
import { type Log } from '../log.ts'
import { answerJson, answerProblem } from './answers.ts'
import { clientOf } from './client.ts'
import { type Credentials, type Guest, type Guests } from './guests.ts'
import { SECURITY_HEADERS } from './security-headers.ts'
import { CODE_SECONDS } from './local-codes.ts'
import { uidOfPeer } from '../network/peer-uid.ts'
import { isDirect, type ThisComputer } from './this-computer.ts'

export interface HostRoutesDeps {
  readonly guests: Guests
  readonly trustedProxies?: readonly string[] | undefined
  readonly version: string
  readonly thisComputer: ThisComputer
  /** Port of the console; undefined if `berth local` has no socket. */
  readonly localCommandPort: () => number | undefined
  readonly proxyFaults: () => readonly ProxyFault[]
  /** Whether this process serves apps at an address for other computers. */
  readonly opensApps: boolean
  readonly apps: () => AppsState
  readonly log: Log
}

const MAX_BODY_BYTES = 64 * 1024
/** Deadline for the arguments of a call, after its sign-in was verified. */
const BODY_MS = 30_000
const HEARTBEAT_MS = 15_000
const MOST_BROWSER = 300
/** A page that is this far behind does not read (e.g. a suspended tab): its stream is cut, and the page opens another one. */
const BEHIND_BYTES = 1024 * 1024

/**
 * Location of the browser, which decides what the local proxy may do for it. `neighbour`: on this computer, of another user than
 * the account of the proxy. `unproven`: it may be on this computer, but has not proven it.
 */
type Place = 'local' | 'neighbour' | 'unproven' | 'remote'

/**
 * HostApi for browsers: `POST /host/<group>/<method>` with the JSON array of arguments, and events as SSE.
 *
 * Threat model: these calls open ports and write SSH keys on this computer. Each call, and the event stream, needs both halves
 * of a browser's sign-in: the cookie, and the origin secret that only our own page has. A browser on another computer gets no
 * tunnels: their listeners would be on the wrong loopback. A browser must prove that it runs on this computer; this is never
 * assumed (`this-computer.ts`).
 */
export function createHostRoutes({
  guests,
  trustedProxies = [],
  thisComputer,
  localCommandPort,
  log,
  ...told
}: HostRoutesDeps) {
  const methods = new Map<string, { readonly group: string; readonly method: string }>()
  for (const [group, names] of Object.entries(HOST_METHODS)) {
    for (const method of Object.keys(names)) methods.set(pathOf(group, method), { group, method })
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    const { address } = clientOf(request, trustedProxies)
    try {
      if (path === HOST_EVENTS_PATH && request.method === 'GET') {
        const credentials = credentialsOf(request)
        const guest = await guests.admit(credentials, address)
        // Do not start a stream for a client that has already gone.
        if (!response.destroyed) streamEvents(guest, credentials, address, response)
        return
      }
      if (path === LOCAL_PROOF_PATH && request.method === 'POST') {
        await guests.admit(credentialsOf(request), address)
        const code = z.tuple([z.string().max(200)]).safeParse(await readJson(request))
        if (!code.success) throw new AppError('bad_request', { why: 'The request lacks the code.' })
        const proof = thisComputer.prove(request, code.data[0], credentialsOf(request).originSecret)
        answerJson(response, { ok: true, value: proof ?? null })
        return
      }
      if (path === LOCAL_CODE_PATH && request.method === 'POST') {
        const { me } = await guests.admit(credentialsOf(request), address)
        await readJson(request)
        answerJson(response, { ok: true, value: await askLocally(request, me.user.email) })
        return
      }
      const call = methods.get(path)
      if (!call) throw new AppError('not_found', { why: 'This host method does not exist.' })
      if (request.method !== 'POST')
        throw new AppError('bad_request', { why: 'Host methods must be called with POST.' })
      const guest = await guests.admit(credentialsOf(request), address)
      const args = parseArguments(call, await readJson(request))
      const place = placeOf(request)
      answerJson(response, await invoke(hostFor(guest, { place, ...told }), call, args))
    } catch (error) {
      request.resume()
      const contained = containedBy(response, log)
      whenUploaded(
        request,
        response,
        contained(() => {
          answerProblem(response, error)
        }),
      )
    }
  }

  /**
   * Creates a code for `berth local`; null if the command cannot help: no socket, or a browser that does not come directly. @throws
   * AppError `forbidden` for a client that hides its user
   */
  async function askLocally(request: IncomingMessage, email: string): Promise<LocalCode | null> {
    const port = localCommandPort()
    if (port === undefined) return null
    const browser = (request.headers['user-agent'] ?? '').slice(0, MOST_BROWSER)
    const uid = await uidOfPeer(request.socket)
    if (uid === 'hidden') throw new AppError('forbidden', { ...because('browser_user_hidden'), whySaysNext: true })
    const about = { email, browser, uid }
    const code = thisComputer.ask(request, credentialsOf(request).originSecret, about)
    return code === undefined ? null : { code, validSeconds: CODE_SECONDS, port }
  }

  function placeOf(request: IncomingMessage): Place {
    const level = thisComputer.levelOf(request, credentialsOf(request).originSecret)
    if (level !== undefined) return level === 'account' ? 'local' : 'neighbour'
    return isDirect(request) ? 'unproven' : 'remote'
  }

  /** Failures of the method itself are Replies; only an invalid request is answered with a problem document. */
  async function invoke(host: HostApi, { group, method }: Call, args: readonly unknown[]): Promise<Reply<unknown>> {
    const functions = host as unknown as Record<
      string,
      Record<string, (...given: readonly unknown[]) => Promise<unknown>>
    >
    try {
      const value = (await functions[group]?.[method]?.(...args)) ?? null
      return { ok: true, value }
    } catch (error) {
      const wire = toWireError(error)
      if (wire.code === 'internal') log.error({ group, method, error: String(error) }, 'a host method failed')
      return { ok: false, error: wire }
    }
  }

  function streamEvents(guest: Guest, credentials: Credentials, address: string, response: ServerResponse) {
    const hold = guests.hold(guest, credentials, () => {
      // Stop the events first: nothing may be written after the end.
      stop()
      response.end()
    })
    response.writeHead(200, {
      ...SECURITY_HEADERS,
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    const write = (frame: string) => {
      if (response.writableLength > BEHIND_BYTES) response.destroy()
      else response.write(frame)
    }
    const send = <E extends keyof HostEvents>(name: E) => {
      return (payload: HostEvents[E]) => {
        write(`event: ${name}\ndata: ${JSON.stringify(payload)}\n\n`)
      }
    }
    const stops = [
      guest.proxy.on('tunnel:changed', send('tunnel:changed')),
      guest.proxy.on('tunnel:traffic', send('tunnel:traffic')),
      guest.proxy.on('tunnel:closed', send('tunnel:closed')),
      guest.proxy.on('sftp:changed', send('sftp:changed')),
    ]
    const heartbeat = setInterval(() => {
      write(': alive\n\n')
      // Ask the manager again: a sign-in that ended there, or a deactivated user, ends the stream through `hold`.
      guests.admit(credentials, address).catch(() => undefined)
    }, HEARTBEAT_MS)
    write(': ready\n\n')
    const stop = () => {
      clearInterval(heartbeat)
      for (const unsubscribe of stops) unsubscribe()
    }
    response.on('close', () => {
      stop()
      hold[Symbol.dispose]()
    })
  }

  return { handle }
}

interface Call {
  readonly group: string
  readonly method: string
}

interface Circumstances extends Pick<HostRoutesDeps, 'version' | 'proxyFaults' | 'opensApps' | 'apps'> {
  readonly place: Place
}

function hostFor(
  { proxy, me, noteOpened }: Guest,
  { place, version, proxyFaults, opensApps, apps }: Circumstances,
): HostApi {
  const forTerminals = () =>
    Promise.reject(new AppError('bad_request', { why: 'A page opens the terminal WebSocket of the manager itself.' }))
  const inBrowser = () => Promise.reject(new AppError('forbidden', because('only_desktop_app')))
  const fixedEndpoint = { kind: 'fixed', url: '' } as const
  const here = <F>(act: F): F => {
    if (place === 'local' || place === 'neighbour') return act
    throw new AppError('forbidden', {
      ...because(place === 'unproven' ? 'browser_unproven' : 'browser_elsewhere'),
      whySaysNext: true,
    })
  }
  /** Guards an action that writes files of the account under which this process runs. */
  const own = <F>(act: F): F => {
    if (place !== 'neighbour') return here(act)
    throw new AppError('forbidden', { ...because('browser_other_account'), whySaysNext: true })
  }
  const noted = (tunnel: Tunnel): Tunnel => {
    noteOpened(tunnel.id)
    return tunnel
  }
  const connected = (kit: SshKit): SshKit => {
    noted(kit.tunnel)
    return kit
  }
  return {
    host: {
      info: () =>
        Promise.resolve({
          kind: place === 'local' || place === 'neighbour' ? 'local' : 'remote',
          isOtherAccount: place === 'neighbour',
          isUnproven: place === 'unproven',
          opensApps,
          version,
          platform: process.platform,
          // Contains network addresses, so it is sent only to users who can fix the proxy.
          ...(me.user.role === 'superadmin' ? { proxyFaults: proxyFaults(), apps: apps() } : {}),
        }),
      settings: () => proxy.settings(),
      // All settings are about SSH and SFTP, and one of them lets us write into the `~/.ssh` of our account.
      saveSettings: settings => own(proxy).saveSettings(settings),
      openExternal: () => Promise.resolve(false),
      endpoint: () => Promise.resolve(fixedEndpoint),
      setEndpoint: () =>
        Promise.reject(new AppError('forbidden', { why: 'A page belongs to the manager it was loaded from.' })),
    },
    tunnel: {
      open: async spec => noted(await here(proxy).tunnel.open(spec)),
      async openApp(spec) {
        const opened = await here(proxy).tunnel.openApp(spec)
        noted(opened.tunnel)
        return opened
      },
      list: () => proxy.tunnel.list(),
      close: id => proxy.tunnel.close(id),
      wake: () => here(proxy).tunnel.wake(),
    },
    ssh: {
      connect: async spec => connected(await own(proxy).ssh.connect(spec)),
      async keyFile(sessionId, format) {
        // FileZilla's site file names a key file, which is written here, and a port.
        if (format === 'filezilla')
          connected(await own(proxy).ssh.connect({ sessionId, app: 'sshd', onPortTaken: 'random' }))
        return await proxy.ssh.keyFile(sessionId, format)
      },
      programs: () => Promise.resolve([]),
      openIn: inBrowser,
    },
    sftp: {
      async open(spec) {
        const kit = await own(proxy).sftp.open(spec)
        noteOpened('sftp')
        return kit
      },
      state: () => proxy.sftp.state(),
      close: () => proxy.sftp.close(),
      async keyFile(format) {
        const file = await own(proxy).sftp.keyFile(format)
        // Opens the port, as `open` does.
        noteOpened('sftp')
        return file
      },
    },
    drag: { fetch: inBrowser, start: inBrowser },
    desktop: {
      servers: inBrowser,
      forgetServer: inBrowser,
      openServer: inBrowser,
      stack: inBrowser,
      showLogs: inBrowser,
      showCrashReports: inBrowser,
      chooseCaFile: inBrowser,
      language: () => Promise.resolve(),
      theme: () => Promise.resolve(),
      options: inBrowser,
      saveOptions: inBrowser,
      tryAgain: inBrowser,
      newCertificate: inBrowser,
      report: inBrowser,
      warnings: inBrowser,
      closeWarning: inBrowser,
      notify: inBrowser,
    },
    terminal: { open: forTerminals, write: forTerminals, resize: forTerminals, close: forTerminals },
  }
}

export function credentialsOf({ headers }: IncomingMessage): Credentials {
  const secret = headers[ORIGIN_SECRET_HEADER]
  return { cookie: headers.cookie ?? '', originSecret: typeof secret === 'string' ? secret : '' }
}

function parseArguments({ group, method }: Call, args: unknown): readonly unknown[] {
  const schemas = HOST_INPUTS as unknown as Record<string, Record<string, ZodType<readonly unknown[]>>>
  const parsed = schemas[group]?.[method]?.safeParse(args)
  if (!parsed) throw new AppError('not_found')
  if (!parsed.success) throw new AppError('bad_request', { why: z.prettifyError(parsed.error) })
  return parsed.data
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/json\b/i.test(type)) throw new AppError('bad_request', { why: 'The body must be JSON.' })
  const body = await readBody(request)
  try {
    return JSON.parse(body.toString())
  } catch (error) {
    throw new AppError('bad_request', { why: 'The body is not JSON.' }, { cause: error })
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  const deadline = setTimeout(() => request.destroy(), BODY_MS)
  try {
    // Keep the connection even if the body is invalid: the answer needs it.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      const bytes = chunk as Buffer
      size += bytes.length
      if (size > MAX_BODY_BYTES) throw new AppError('body_too_large', { limit: MAX_BODY_BYTES })
      chunks.push(bytes)
    }
    return Buffer.concat(chunks)
  } finally {
    clearTimeout(deadline)
  }
}
