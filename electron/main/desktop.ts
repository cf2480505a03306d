import { AppError } from '#manager/contract'
import { createChosenBerth } from './desktop/chosen-berth.ts'
import { type DesktopDeps, type OnUnexpected } from './desktop/desktop-deps.ts'
import { showFirstWindow } from './desktop/first-window.ts'
import { createLeaving } from './desktop/leaving.ts'
import { createWindows } from './desktop/create-windows.ts'
import { createPageWork } from './desktop/page-work.ts'
import { servePages } from './desktop/serve-pages.ts'
import { createTrayAndStatus } from './desktop/tray-and-status.ts'
import { watchWindows } from './desktop/watch-windows.ts'
import { type ElectronSlice } from './electron-slice.ts'
import { watchGraphics } from './faults/watch-graphics.ts'
import { CONSOLE_SCHEME } from './security/console-origin.ts'
import { denyPermissions } from './security/guard-contents.ts'
import { createLinks } from './security/open-links.ts'
import { installMenu } from './windows/menus.ts'

/**
 * Registers the scheme of the page; must run before Electron is ready. `secure` and `standard` give the page a real origin
 * (storage, clipboard, CSP `self`). Pages of the scheme do not bypass the CSP.
 */
export function registerConsoleScheme({ protocol }: Pick<ElectronSlice, 'protocol'>): void {
  protocol.registerSchemesAsPrivileged([
    { scheme: CONSOLE_SCHEME, privileges: { standard: true, secure: true, supportFetchAPI: true, stream: true } },
  ])
}

/**
 * The desktop app, once Electron is ready and this is its only instance. Each part of it is a file of `desktop/`. Parts that need each
 * other are connected here: a function of a later part is called only once the app runs.
 *
 * @throws AppError `config_invalid` for a wrong `fixedEndpoint`
 */
export function startDesktop(deps: DesktopDeps): void {
  const { electron, settings, questions, language, log, updates } = deps
  const onUnexpected: OnUnexpected = (where, error) => log.error({ where, err: error }, 'unexpected failure')

  electron.nativeTheme.themeSource = settings.current.theme
  const { windows, pageWindows } = createWindows(deps, onUnexpected)
  deps.warnings.follow(open => windows.emit('desktop:warned', open))
  const berth = createChosenBerth(deps, {
    windows,
    heard: (event, payload) => status.heard(event, payload),
    onUserChanged() {
      work.terminals.closeAll()
      work.draggedFiles.forget().catch((error: unknown) => onUnexpected('dragged files', error))
    },
    // Terminals belong to the previous connection.
    onReplaced: () => work.terminals.closeAll(),
    onUnexpected,
  })
  const { server } = berth
  const { connector } = server
  const work = createPageWork(deps, connector)
  const { tray, status } = createTrayAndStatus(deps, {
    windows,
    connector,
    stopAndQuit: () => void leave.stopAndQuit(),
    onUnexpected,
  })

  watchGraphics({ electron, ask: questions.ask, settings, language, log })
  denyPermissions(electron)
  const links = createLinks({
    electron,
    questions,
    settings,
    hasBrowser: deps.hasBrowser,
    lead: deps.leadBrowser,
    language,
    log,
  })
  const showLogs = async () => {
    const why = await electron.shell.openPath(deps.logs.folder)
    if (why !== '') throw new AppError('unavailable', { why })
  }
  const menu = () =>
    installMenu({
      electron,
      platform: process.platform,
      language: language(),
      showConsole: windows.show,
      showLogs: () => void showLogs(),
      canChangeServer: !server.isFixed,
      checkUpdates: updates.isOn ? () => void updates.check() : undefined,
    })
  servePages(deps, {
    berth,
    work,
    status,
    links,
    windows,
    showLogs,
    onLanguage() {
      menu()
      tray.update()
    },
    onUnexpected,
  })
  const leave = createLeaving(deps, { windows, connector, work, status, tray, onUnexpected })
  watchWindows(deps, { windows, pageWindows, work, status, links, leave, onUnexpected })
  electron.app.on('activate', () => windows.show())

  updates.begin()
  menu()
  electron.session.defaultSession.setSpellCheckerEnabled(settings.current.checkSpelling)
  showFirstWindow(deps, { windows, server, onUnexpected })
}
