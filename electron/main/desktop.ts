import { type EndpointChoice, type Endpoint } from '#electron/contract'
import { AppError } from '#manager/contract'
import { openConnection, type Connection, type StartUserProxy } from './connection.ts'
import { createConsoleHandler } from './console/serve-console.ts'
import { type CredentialStore } from './credentials/credential-store.ts'
import { type ElectronSlice, type TraySlice } from './electron-slice.ts'
import { createHostApi } from './ipc/create-host-api.ts'
import { HOST_INPUTS } from './ipc/host-inputs.ts'
import { serveHostApi } from './ipc/serve-host-api.ts'
import { CONSOLE_SCHEME } from './security/console-origin.ts'
import { denyPermissions, guardContents } from './security/guard-contents.ts'
import { type SettingsFile } from './settings/settings-file.ts'
import { type EmbeddedStack } from './stack/embedded-stack.ts'
import { createTerminals } from './terminal/terminals.ts'
import { askBeforeQuit } from './windows/ask-before-quit.ts'
import { createConsoleWindows } from './windows/console-windows.ts'
import { deepLinkOf, routeOfDeepLink } from './windows/deep-link.ts'
import { createTray, installMenu } from './windows/menus.ts'

export interface DesktopDeps {
  readonly electron: ElectronSlice
  /** Folder of the built page, and the bundled preload script. */
  readonly consoleDir: string
  readonly preload: string
  readonly argv: readonly string[]
  readonly settings: SettingsFile
  readonly credentials: CredentialStore
  /** BERTH_ENDPOINT: instead of the user's choice. */
  readonly fixedEndpoint?: string | undefined
  readonly startStack: () => Promise<EmbeddedStack>
  readonly startProxy: StartUserProxy
  readonly fetch: typeof fetch
  readonly log: { warn(detail: object, message: string): void; error(detail: object, message: string): void }
}

/**
 * Must run before Electron is ready. `secure` and `standard` give the page a real origin (storage, clipboard, CSP `self`);
 * it does not bypass the CSP.
 */
export function registerConsoleScheme({ protocol }: Pick<ElectronSlice, 'protocol'>): void {
  protocol.registerSchemesAsPrivileged([
    { scheme: CONSOLE_SCHEME, privileges: { standard: true, secure: true, supportFetchAPI: true, stream: true } },
  ])
}

/** The desktop app, once Electron is ready and this is its only instance. */
export function startDesktop(deps: DesktopDeps): void {
  const { electron, settings, log } = deps
  const { app } = electron
  const windows = createConsoleWindows({ electron, preload: deps.preload })
  const onUnexpected = (where: string, error: unknown) => log.error({ where, err: error }, 'unexpected failure')

  const connect = (choice: EndpointChoice, fixed = false): Promise<Connection> =>
    openConnection({
      choice,
      fixed,
      credentials: deps.credentials,
      fetch: deps.fetch,
      startStack: deps.startStack,
      startProxy: deps.startProxy,
      emit: windows.emit,
      onUserChanged: () => terminals.closeAll(),
    })
  const begin = () =>
    deps.fixedEndpoint === undefined
      ? connect(settings.current.endpoint)
      : connect({ kind: 'remote', url: deps.fixedEndpoint }, true)
  // The page is there at once and its first request waits for this; a failure is what that request is told.
  let connection = begin()
  connection.catch((error: unknown) => log.error({ err: error }, 'the manager could not be reached'))

  const terminals = createTerminals({ account: async () => (await connection).account })

  const setEndpoint = async (choice: EndpointChoice): Promise<Endpoint> => {
    if (deps.fixedEndpoint !== undefined) throw new AppError('forbidden', { why: 'BERTH_ENDPOINT decides.' })
    const before = await connection.catch(() => undefined)
    if (before && choice.kind === 'embedded' && before.endpoint.kind === 'embedded') return before.endpoint
    const next = await connect(choice)
    connection = Promise.resolve(next)
    terminals.closeAll()
    await before?.[Symbol.asyncDispose]()
    await settings.update({ endpoint: choice })
    return next.endpoint
  }

  const endpoint = async (): Promise<Endpoint> => {
    const known = await connection.catch(() => undefined)
    if (known) return known.endpoint
    if (deps.fixedEndpoint !== undefined) return { kind: 'fixed', url: deps.fixedEndpoint }
    const { endpoint: choice } = settings.current
    return { kind: choice.kind, url: choice.kind === 'remote' ? choice.url : '' }
  }

  denyPermissions(electron)
  electron.protocol.handle(
    CONSOLE_SCHEME,
    createConsoleHandler({
      root: deps.consoleDir,
      account: async () => (await connection).account,
      fetch: deps.fetch,
      onUnexpected,
    }),
  )
  serveHostApi({
    ipcMain: electron.ipcMain,
    inputs: HOST_INPUTS,
    apiFor: createHostApi({ electron, connection: () => connection, endpoint, setEndpoint, terminals }),
    onUnexpected,
  })
  app.on('web-contents-created', (_event, contents) => {
    guardContents(contents, { electron, preload: deps.preload, log })
    windows.adopt(contents)
    // A reloaded page has forgotten its terminals; tunnels are not its own and stay.
    contents.on('did-navigate', () => terminals.closePage(contents.id))
    contents.on('destroyed', () => terminals.closePage(contents.id))
  })

  let tray: TraySlice | undefined
  let leaving: 'no' | 'asking' | 'stopping' = 'no'
  const stop = async () => {
    if (leaving === 'stopping') return
    leaving = 'stopping'
    terminals.closeAll()
    await connection.then(c => c[Symbol.asyncDispose]()).catch((error: unknown) => onUnexpected('stop', error))
    tray?.destroy()
    app.exit(0)
  }
  const leave = async () => {
    if (leaving !== 'no') return
    leaving = 'asking'
    const running = await (await connection.catch(() => undefined))?.running()
    const answer = running ? await askBeforeQuit(electron.dialog, running) : 'stop'
    leaving = 'no'
    if (answer === 'stop') {
      await stop()
      return
    }
    if (answer === 'cancel') {
      windows.show()
      return
    }
    tray ??= createTray({ electron, showConsole: windows.show, stopAndQuit: () => void stop() })
    windows.destroy()
  }
  app.on('before-quit', event => {
    event.preventDefault()
    void leave()
  })
  app.on('window-all-closed', () => {
    if (!tray && process.platform !== 'darwin') app.quit()
  })
  app.on('activate', () => windows.show())
  app.on('second-instance', (_event, argv) => windows.show(deepLinkOf(argv)))
  app.on('open-url', (event, url) => {
    event.preventDefault()
    const route = routeOfDeepLink(url)
    if (route === undefined) log.warn({ url }, 'deep link refused')
    windows.show(route)
  })

  installMenu({ electron, showConsole: windows.show })
  windows.show(deepLinkOf(deps.argv))
}
