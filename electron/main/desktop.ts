import { type DockerCheck, type HostEvents } from '#proxy/contract'
import { AppError } from '#manager/contract'
import { type Network } from '#proxy/network'
import { openConnection, type StartUserProxy, type UserProxy } from './connection.ts'
import { createChosenServer } from './chosen-server.ts'
import { type ProxySignIns } from './network/proxy-sign-ins.ts'
import { createConsoleHandler } from './console/serve-console.ts'
import { type CredentialStore } from './credentials/credential-store.ts'
import { type ElectronSlice } from './electron-slice.ts'
import { createLeave } from './leave.ts'
import { createDesktopApi } from './desktop-api.ts'
import { askUnresponsive } from './faults/ask-unresponsive.ts'
import { type CrashReports } from './faults/crash-reports.ts'
import { watchGraphics } from './faults/watch-graphics.ts'
import { createHostApi } from './ipc/create-host-api.ts'
import { HOST_INPUTS } from './ipc/host-inputs.ts'
import { serveHostApi } from './ipc/serve-host-api.ts'
import { CONSOLE_SCHEME, isQuestionUrl } from './security/console-origin.ts'
import { createLinks } from './security/open-links.ts'
import { createServerTrust } from './security/server-trust.ts'
import { denyPermissions, guardContents } from './security/guard-contents.ts'
import { createDraggedFiles } from './files/dragged-files.ts'
import { type Programs } from './programs/open-program.ts'
import { type ExtraAuthorities } from './settings/extra-authorities.ts'
import { type LoginItem } from './settings/login-item.ts'
import { type SettingsFile } from './settings/settings-file.ts'
import { type EmbeddedStack, type StackReport } from './stack/embedded-stack.ts'
import { createStackStarter } from './stack/stack-start.ts'
import { watchSleep } from './watch-sleep.ts'
import { watchSystemEnd } from './system-end.ts'
import { createTerminals } from './terminal/terminals.ts'
import { offerContextMenu } from './windows/context-menu.ts'
import { type Updates } from './updates/updates.ts'
import { type Language } from './windows/words.ts'
import { askBeforeUnload } from './windows/ask-before-unload.ts'
import { createAppStatus } from './windows/app-status.ts'
import { type Questions } from './windows/questions.ts'
import { createConsoleWindows, windowLook } from './windows/console-windows.ts'
import { type Warnings } from './warnings.ts'
import { type DeepLinks } from './windows/deep-links.ts'
import { installMenu } from './windows/menus.ts'
import { createPageWindows } from './windows/page-windows.ts'
import { reviveAfterCrash } from './windows/revive-page.ts'
import { createNotifications } from './windows/notifications.ts'
import { createTray } from './windows/tray.ts'
import { TRAY_ICON } from './windows/tray-icon.ts'
import { WINDOW_ICON } from './windows/window-icon.ts'

export interface DesktopDeps {
  readonly electron: ElectronSlice
  readonly questions: Questions
  /** Signals end it. */
  readonly process: Pick<NodeJS.EventEmitter, 'on'>
  /** Folder of the built page; `preload` is the path of the bundled preload script. */
  readonly consoleDir: string
  readonly preload: string
  readonly links: DeepLinks
  readonly settings: SettingsFile
  readonly credentials: CredentialStore
  /** BERTH_ENDPOINT: an address or a sign-in link, which overrides the user's choice. */
  readonly fixedEndpoint?: string | undefined
  /** Sign-in link of a Berth that was just started on this computer: used first, and the user may choose another. */
  readonly signInLink?: string | undefined
  /** The user was sent to a browser, perhaps to sign in at a provider: its answer is for this profile. */
  readonly signInBegun: () => Promise<void>
  readonly startStack: (report: StackReport) => Promise<EmbeddedStack>
  readonly checkDocker: () => Promise<DockerCheck>
  /** Starts another app with its own settings, which connects to this server. */
  readonly openServer: (url: string) => Promise<void>
  readonly logs: { readonly folder: string }
  /** Folder of files that drags take out of the window; the app removes it at its end. */
  readonly draggedFolder: string
  readonly updates: Updates
  readonly warnings: Warnings
  readonly loginItem: LoginItem
  readonly authorities: ExtraAuthorities
  readonly crashReports: CrashReports
  readonly programs: Programs
  /** Whether this computer has a browser that opens links. */
  readonly hasBrowser: () => Promise<boolean>
  /** The app begins in the tray: it was started by the sign-in to this computer. */
  readonly startsInBackground: boolean
  readonly startProxy: StartUserProxy
  readonly network: Pick<Network, 'fetch' | 'agentFor' | 'shownBy'>
  readonly proxySignIns: Pick<ProxySignIns, 'answered' | 'forgetCancelled'>
  /** Answers the requests of windows that ask a question. */
  readonly answerQuestion: (request: Request) => Promise<Response>
  /** Language of menus and questions. */
  readonly language: () => Language
  readonly log: { warn(detail: object, message: string): void; error(detail: object, message: string): void }
}

/**
 * Registers the scheme of the page; must run before Electron is ready. `secure` and `standard` give the page a real origin
 * (storage, clipboard, CSP `self`). Pages of the scheme do not bypass the CSP.
 */
export function registerConsoleScheme({ protocol }: Pick<ElectronSlice, 'protocol'>): void {
  protocol.registerSchemesAsPrivileged([
    { scheme: CONSOLE_SCHEME, privileges: { standard: true, secure: true, supportFetchAPI: true, stream: true } },
  ])
}

/** The desktop app, once Electron is ready and this is its only instance. @throws AppError `config_invalid` for a wrong `fixedEndpoint` */
export function startDesktop(deps: DesktopDeps): void {
  const { electron, settings, questions, log } = deps
  const { app } = electron
  const { ask } = questions
  const icon = process.platform === 'linux' ? electron.nativeImage.createFromDataURL(WINDOW_ICON) : undefined
  const look = () => windowLook(electron, icon)
  const pageWindows = createPageWindows({
    remembered: () => settings.current.pageWindow,
    remember: pageWindow =>
      void settings.update({ pageWindow }).catch((error: unknown) => onUnexpected('settings', error)),
  })
  const windows = createConsoleWindows({
    electron,
    preload: deps.preload,
    look,
    pageWindows,
    remembered: () => settings.current.window,
    remember: window => void settings.update({ window }).catch((error: unknown) => onUnexpected('settings', error)),
  })
  const onUnexpected = (where: string, error: unknown) => log.error({ where, err: error }, 'unexpected failure')

  const starter = createStackStarter({
    checkDocker: deps.checkDocker,
    start: deps.startStack,
    onChange: now => windows.emit('stack:changed', now),
    onIsolation(reason) {
      if (reason) deps.warnings.add({ kind: 'partly_isolated', reason })
      else deps.warnings.remove('partly_isolated')
    },
  })
  deps.warnings.follow(open => windows.emit('desktop:warned', open))
  const { language } = deps
  const trust = createServerTrust({ network: deps.network, settings, ask, language })
  const server = createChosenServer({
    settings,
    fixedEndpoint: deps.fixedEndpoint,
    signInLink: deps.signInLink,
    connect: (choice, { isFixed, ticket }) =>
      openConnection({
        choice,
        isFixed,
        ticket,
        credentials: deps.credentials,
        fetch: deps.network.fetch,
        trust: origin => trust.ask(origin),
        proxyAnswered: () => deps.proxySignIns.answered(),
        startStack: () => starter.start(),
        startProxy: deps.startProxy,
        emit(event, payload) {
          windows.emit(event, payload)
          status.heard(event, payload)
          if (event === 'tunnel:closed') {
            const { id } = payload as HostEvents['tunnel:closed']
            void deps.programs.tunnelClosed(id).catch((error: unknown) => onUnexpected('drive', error))
          }
        },
        onUserChanged() {
          terminals.closeAll()
          draggedFiles.forget().catch((error: unknown) => onUnexpected('dragged files', error))
        },
        onSignedInLate: () => windows.reload(),
      }),
    isStackStarting: () => starter.now.state === 'starting',
    forgetRefusals() {
      trust.forgetRefusals()
      deps.proxySignIns.forgetCancelled()
    },
    onReplaced: () => terminals.closeAll(),
    openServer: deps.openServer,
    show({ isNew }) {
      windows.show(isNew ? '/' : undefined)
      if (isNew) windows.reload()
    },
    onFailure: error => log.error({ err: error }, 'the manager could not be reached'),
  })
  const { connector } = server

  const account = async () => (await connector.current()).account
  const terminals = createTerminals({ account, agentFor: deps.network.agentFor })
  const draggedFiles = createDraggedFiles({
    account,
    fetch: deps.network.fetch,
    folder: deps.draggedFolder,
    icon: electron.nativeImage.createFromDataURL(TRAY_ICON),
  })
  const ofProxy = (act: (proxy: UserProxy) => Promise<void>) =>
    void connector
      .current()
      .then(async connection => act(await connection.proxy()))
      .catch((error: unknown) => onUnexpected('tray', error))
  const tray = createTray({
    electron,
    language,
    acts: {
      show: windows.show,
      openTerminal: id => windows.open(`/terminal/${id}`),
      copy: text => void electron.clipboard.writeText(text),
      closeTunnel: id => ofProxy(proxy => proxy.tunnel.close(id)),
      closeFolderPort: () => ofProxy(proxy => proxy.sftp.close()),
      stopAndQuit: () => void leave.stopAndQuit(),
    },
  })
  const status = createAppStatus({
    onChange: now => tray.update(now),
    setBadge: count => void app.setBadgeCount(count),
    setProgress: (fraction, mode) => windows.setProgress(fraction, mode),
  })
  const showLogs = async () => {
    const why = await electron.shell.openPath(deps.logs.folder)
    if (why !== '') throw new AppError('unavailable', { why })
  }

  watchGraphics({ electron, ask, settings, language, log })
  denyPermissions(electron)
  const externalLinks = createLinks({ electron, questions, settings, hasBrowser: deps.hasBrowser, language, log })
  const untilSleep = watchSleep(electron, () => {
    void connector.known?.wake().catch((error: unknown) => onUnexpected('wake', error))
  })
  const answerConsole = createConsoleHandler({
    root: deps.consoleDir,
    account,
    fetch: deps.network.fetch,
    untilSleep,
    onUnexpected,
  })
  electron.protocol.handle(CONSOLE_SCHEME, request =>
    isQuestionUrl(request.url) ? deps.answerQuestion(request) : answerConsole(request),
  )
  serveHostApi({
    ipcMain: electron.ipcMain,
    inputs: HOST_INPUTS,
    apiFor: createHostApi({
      electron,
      connection: () => connector.current(),
      endpoint: () => server.endpoint(),
      setEndpoint: wanted => server.setEndpoint(wanted),
      links: externalLinks,
      sentToBrowser: () => void deps.signInBegun().catch((error: unknown) => onUnexpected('sign-in', error)),
      terminals,
      programs: deps.programs,
      draggedFiles,
      report: (page, report) => status.reported(page, report),
      desktop: createDesktopApi({
        electron,
        settings,
        loginItem: deps.loginItem,
        authorities: deps.authorities,
        crashReports: deps.crashReports,
        openServer: deps.openServer,
        stack: () => starter.now,
        showLogs,
        onLanguage() {
          menu()
          tray.update()
        },
        tryAgain: () => deps.proxySignIns.forgetCancelled(),
        newCertificate: async () => {
          const { kind, url } = await server.endpoint()
          return kind !== 'none' && (await trust.askAnew(new URL(url).origin))
        },
        warnings: deps.warnings,
        notify: createNotifications(electron, to => windows.show(to)),
      }),
    }),
    onUnexpected,
  })
  app.on('web-contents-created', (_event, contents) => {
    guardContents(contents, { links: externalLinks, preload: deps.preload, look, pageWindows, log })
    windows.adopt(contents)
    reviveAfterCrash(contents, { electron, ask, language, log })
    askUnresponsive(contents, { ask, language, log })
    offerContextMenu(contents, { electron, language })
    // A reloaded page has lost its terminals; tunnels do not belong to the page and stay.
    contents.on('did-navigate', (_navigated, url) => {
      terminals.closePage(contents.id)
      status.pageGone(contents.id)
      // Reloading is how a user tries again.
      if (!isQuestionUrl(url)) deps.proxySignIns.forgetCancelled()
    })
    contents.on('destroyed', () => {
      terminals.closePage(contents.id)
      status.pageGone(contents.id)
    })
  })
  app.on('browser-window-created', (_event, window) =>
    askBeforeUnload(window, { questions, isEnding: () => leave.isEnding, language, onUnexpected }),
  )

  const leave = createLeave({
    electron,
    questions,
    language,
    windows,
    running: async () => (await connector.known?.running()) ?? { tunnels: 0, connections: 0, stack: false },
    pageWork: () => status.work,
    onUnexpected,
    async end() {
      windows.keepState()
      terminals.closeAll()
      // Before the connections that they need.
      await deps.programs.close().catch((error: unknown) => onUnexpected('drives', error))
      await draggedFiles.forget().catch((error: unknown) => onUnexpected('dragged files', error))
      // A stack that is still starting ends by itself when it loses its channel to us.
      const { known } = connector
      if (known)
        await Promise.resolve(known[Symbol.asyncDispose]()).catch((error: unknown) => onUnexpected('stop', error))
      tray.destroy()
      updates[Symbol.dispose]()
      await settings.saved()
    },
  })
  watchSystemEnd({ electron, process: deps.process, platform: process.platform, end: () => void leave.end() })
  app.on('before-quit', event => {
    // Sent by macOS when it shuts down: the shutdown stops if Berth does not agree.
    if (leave.isEnding && process.platform === 'darwin') return
    event.preventDefault()
    void leave.ask()
  })
  app.on('window-all-closed', () => {
    if (settings.current.keepInBackground) windows.hide()
    else if (process.platform !== 'darwin') app.quit()
  })
  app.on('activate', () => windows.show())

  const { updates } = deps
  updates.begin()
  const menu = () =>
    installMenu({
      electron,
      language: language(),
      showConsole: windows.show,
      showLogs: () => void showLogs(),
      canChangeServer: !server.isFixed,
      checkUpdates: updates.isOn ? () => void updates.check() : undefined,
    })
  menu()
  electron.session.defaultSession.setSpellCheckerEnabled(settings.current.checkSpelling)
  // Until Berth on this computer answers, and before the first choice, the page has nothing else to show.
  const beginning = server.choice()
  const start = beginning === null || beginning.kind === 'embedded' ? '/start?then=console' : undefined
  let isHidden = deps.startsInBackground
  deps.links.follow({
    show(route) {
      const target = route ?? (connector.known ? undefined : start)
      if (isHidden && route === undefined) windows.hide(target)
      else windows.show(target)
      isHidden = false
    },
    signIn(link) {
      windows.show()
      server.signInAt(link).catch((error: unknown) => onUnexpected('sign-in link', error))
    },
  })
}
