import { join } from 'node:path'
import { createMutex } from '#base/mutex'
import { type ApiClient, AppError, because } from '#manager/contract'
import { type FolderKit, type FolderPort, FolderPortSpec, type HostApi } from '#proxy/contract'
import { writeFileAtomically } from '../files.ts'
import { type LoopbackListener } from '../listeners/loopback-listener.ts'
import { openListener } from '../listeners/open-listener.ts'
import { type PortMemory } from '../listeners/port-memory.ts'
import { type Log } from '../log.ts'
import { type KitFiles } from '../ssh/kit-files.ts'
import { openFolderKeys, type FolderKeys } from './folder-keys.ts'
import { folderKeyFile, kitIdOf, makeFolderKit } from './kit.ts'
import { openSftp, type SftpRoute } from './open-sftp.ts'
import { createSshServer, type SshServer } from './ssh-server.ts'

export interface FolderPortDeps extends SftpRoute {
  readonly api: Pick<ApiClient, 'getSshKeypair'>
  /** Directory of this user's proxy. */
  readonly directory: string
  readonly files: KitFiles
  readonly ports: PortMemory
  /** Whether the user's own ssh configuration may get an Include line. */
  readonly mayInclude: () => Promise<boolean>
  /** Label of the server in aliases. */
  readonly server: () => string
  readonly ownTunnelOn: (port: number) => { sessionName: string; app: string } | undefined
  readonly onChange: (port: FolderPort | null) => void
  readonly log: Log
}

/** The SFTP port of a user: one listener that serves all folders. Disposing closes it. */
export type FolderPorts = HostApi['sftp'] & AsyncDisposable

interface Open {
  readonly listener: LoopbackListener
  readonly server: SshServer
  readonly keys: FolderKeys
  readonly openedAt: string
}

/** Key under which the port is remembered; no session has this name. */
const REMEMBERED = ['@folders', 'sftp'] as const

/**
 * Threat model: the listener is on loopback; the server behind it asks for a key (`ssh-server.ts`): the one that the proxy made for
 * programs of this computer, or the SSH key of the account. The connection to the manager is opened with the sign-in of the user at
 * that moment, so a port that stays open after a sign-out serves nothing.
 */
export function createFolderPorts(deps: FolderPortDeps): FolderPorts {
  const { api, directory, files, ports, mayInclude, server, ownTunnelOn, onChange, log } = deps
  let opened: Open | undefined
  const inTurn = createMutex()

  const stateOf = ({ listener, server, openedAt }: Open): FolderPort => ({
    host: '127.0.0.1',
    port: listener.port,
    connections: server.connections,
    openedAt,
  })

  async function listen({ port, onPortTaken }: ReturnType<typeof FolderPortSpec.parse>): Promise<Open> {
    const keys = await openFolderKeys(directory)
    const server = await createSshServer({
      hostKey: keys.host.privateKey,
      allowedKeys: () => allowedKeys(keys),
      openSftp: signal => openSftp(deps, signal),
      onChange: () => {
        if (opened?.server === server) onChange(stateOf(opened))
      },
      log,
    })
    const memory = await ports.recall(...REMEMBERED)
    const listener = await openListener({
      wanted: port,
      remembered: memory?.port,
      onPortTaken,
      onConnection: socket => server.accept(socket),
      ownTunnelOn,
    })
    await ports.remember(...REMEMBERED, { port: listener.port, sessionId: 'folders' }).catch((error: unknown) => {
      log.warn({ error: String(error) }, 'the SFTP port could not be remembered')
    })
    return { listener, server, keys, openedAt: new Date().toISOString() }
  }

  /** The key of this computer's programs, and that of the account, which may change at any time. */
  async function allowedKeys({ client }: FolderKeys): Promise<string[]> {
    const account = await api.getSshKeypair().catch((error: unknown) => {
      log.debug({ error: String(error) }, "the account's SSH key could not be read")
      return { publicKey: null }
    })
    return [client.publicKey, ...(account.publicKey === null ? [] : [account.publicKey])]
  }

  async function open(input: FolderPortSpec): Promise<FolderKit> {
    const spec = FolderPortSpec.parse(input)
    if (opened && spec.port !== undefined && spec.port !== opened.listener.port && spec.onPortTaken === 'fail') {
      const { port, connections } = stateOf(opened)
      if (connections > 0) {
        const why = because('folders_open_elsewhere', { port, connections })
        throw new AppError('app_open_elsewhere', { port, connections, ...why })
      }
      await close()
    }
    const isNew = opened === undefined
    opened ??= await listen(spec)
    const kit = await kitOf(opened)
    if (isNew) {
      log.info({ port: kit.port.port }, 'the SFTP port of folders was opened')
      onChange(kit.port)
    }
    return kit
  }

  async function kitOf(one: Open): Promise<FolderKit> {
    const knownHostsFile = join(directory, 'sftp', 'known_hosts')
    await writeFileAtomically(knownHostsFile, `[127.0.0.1]:${one.listener.port} ${one.keys.host.publicKey}\n`)
    const include = await mayInclude()
    return await makeFolderKit(stateOf(one), { keys: one.keys, files, knownHostsFile, include, server: server() })
  }

  async function close(): Promise<void> {
    if (!opened) return
    const { listener, server, keys } = opened
    opened = undefined
    const closed = listener.close()
    server.close()
    await closed
    await files.remove(kitIdOf(keys)).catch((error: unknown) => {
      log.warn({ error: String(error) }, 'the SSH files of the SFTP port could not be removed')
    })
    log.info({ port: listener.port }, 'the SFTP port of folders was closed')
    onChange(null)
  }

  return {
    open: spec => inTurn(() => open(spec)),
    state: () => Promise.resolve(opened ? stateOf(opened) : null),
    close: () => inTurn(close),
    keyFile: format =>
      inTurn(async () => {
        const kit = await open({ onPortTaken: 'random' })
        const keys = opened?.keys ?? (await openFolderKeys(directory))
        return folderKeyFile(keys, kit, format)
      }),
    [Symbol.asyncDispose]: () => inTurn(close),
  }
}
