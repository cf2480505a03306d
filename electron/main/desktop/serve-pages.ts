import { createReachLog } from '../console/reach-log.ts'
import { createConsoleHandler } from '../console/serve-console.ts'
import { createDesktopApi } from '../ipc/desktop-api.ts'
import { createHostApi } from '../ipc/create-host-api.ts'
import { HOST_INPUTS } from '../ipc/host-inputs.ts'
import { serveHostApi } from '../ipc/serve-host-api.ts'
import { CONSOLE_SCHEME, isQuestionUrl } from '../security/console-origin.ts'
import { type Links } from '../security/open-links.ts'
import { watchSleep } from '../system/watch-sleep.ts'
import { type AppStatusKeeper } from '../windows/app-status.ts'
import { type ConsoleWindows } from '../windows/console-windows.ts'
import { createNotifications } from '../windows/notifications.ts'
import { type ChosenBerth } from './chosen-berth.ts'
import { type DesktopDeps, type OnUnexpected } from './desktop-deps.ts'
import { type PageWork } from './page-work.ts'

interface Parts {
  readonly berth: ChosenBerth
  readonly work: PageWork
  readonly status: AppStatusKeeper
  readonly links: Links
  readonly windows: ConsoleWindows
  readonly showLogs: () => Promise<void>
  /** Called when the page has chosen another language. */
  readonly onLanguage: () => void
  readonly onUnexpected: OnUnexpected
}

/** Answers the pages: their files and requests below `berth://`, and the calls of `window.host`. */
export function servePages(deps: DesktopDeps, parts: Parts): void {
  const { electron, settings, network } = deps
  const { berth, work, status, links, windows, onUnexpected } = parts
  const { server, trust, starter } = berth
  const { connector } = server

  const untilSleep = watchSleep(electron, () => {
    void connector.known?.wake().catch((error: unknown) => onUnexpected('wake', error))
  })
  const answerConsole = createConsoleHandler({
    root: deps.consoleDir,
    account: async () => (await connector.current()).account,
    fetch: network.fetch,
    untilSleep,
    reach: createReachLog(deps.log),
    onUnexpected,
  })
  electron.protocol.handle(CONSOLE_SCHEME, request =>
    isQuestionUrl(request.url) ? deps.answerQuestion(request) : answerConsole(request),
  )

  const desktop = createDesktopApi({
    electron,
    settings,
    loginItem: deps.loginItem,
    authorities: deps.authorities,
    crashReports: deps.crashReports,
    openServer: deps.openServer,
    stack: () => starter.now,
    showLogs: parts.showLogs,
    onLanguage: parts.onLanguage,
    tryAgain: () => deps.proxySignIns.forgetCancelled(),
    newCertificate: async () => {
      const { kind, url } = await server.endpoint()
      return kind !== 'none' && (await trust.askAnew(new URL(url).origin))
    },
    warnings: deps.warnings,
    notify: createNotifications(electron, to => windows.show(to)),
  })
  serveHostApi({
    ipcMain: electron.ipcMain,
    inputs: HOST_INPUTS,
    apiFor: createHostApi({
      electron,
      connection: () => connector.current(),
      endpoint: () => server.endpoint(),
      setEndpoint: wanted => server.setEndpoint(wanted),
      links,
      sentToBrowser: () => void deps.signInBegun().catch((error: unknown) => onUnexpected('sign-in', error)),
      terminals: work.terminals,
      programs: deps.programs,
      draggedFiles: work.draggedFiles,
      report: (page, report) => status.reported(page, report),
      desktop,
    }),
    onUnexpected,
  })
}
