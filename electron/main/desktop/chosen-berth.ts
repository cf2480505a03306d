import { type HostEvents } from '#proxy/contract'
import { createServerTrust, type ServerTrust } from '../security/server-trust.ts'
import { type ChosenServer, createChosenServer } from '../server/chosen-server.ts'
import { openConnection } from '../server/connection.ts'
import { createStackStarter, type StackStarter } from '../stack/stack-start.ts'
import { type ConsoleWindows } from '../windows/console-windows.ts'
import { type DesktopDeps, type OnUnexpected } from './desktop-deps.ts'

export interface ChosenBerth {
  readonly server: ChosenServer
  readonly trust: ServerTrust
  /** The start of Berth on this computer. */
  readonly starter: StackStarter
}

interface Parts {
  readonly windows: ConsoleWindows
  /** Called with each event of the connection, for the tray. The pages get it too. */
  readonly heard: <E extends keyof HostEvents>(event: E, payload: HostEvents[E]) => void
  /** Called when another user, or nobody, is signed in. */
  readonly onUserChanged: () => void
  /** Called when another server was chosen. */
  readonly onReplaced: () => void
  readonly onUnexpected: OnUnexpected
}

/** The Berth that the user has chosen: the connection to it, trust in its certificate, and the start of the one on this computer. */
export function createChosenBerth(deps: DesktopDeps, parts: Parts): ChosenBerth {
  const { settings, language, network, log } = deps
  const { windows, onUnexpected } = parts
  const starter = createStackStarter({
    checkDocker: deps.checkDocker,
    start: deps.startStack,
    onChange: now => windows.emit('stack:changed', now),
    onIsolation(reason) {
      if (reason) deps.warnings.add({ kind: 'partly_isolated', reason })
      else deps.warnings.remove('partly_isolated')
    },
  })
  const trust = createServerTrust({ network, settings, ask: deps.questions.ask, language })
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
        fetch: network.fetch,
        trust: origin => trust.ask(origin),
        proxyAnswered: () => deps.proxySignIns.answered(),
        startStack: () => starter.start(),
        startProxy: deps.startProxy,
        emit(event, payload) {
          windows.emit(event, payload)
          parts.heard(event, payload)
          if (event === 'tunnel:closed') {
            const { id } = payload as HostEvents['tunnel:closed']
            void deps.programs.tunnelClosed(id).catch((error: unknown) => onUnexpected('drive', error))
          }
        },
        onUserChanged: parts.onUserChanged,
        onSignedInLate: () => windows.reload(),
      }),
    isStackStarting: () => starter.now.state === 'starting',
    forgetRefusals() {
      trust.forgetRefusals()
      deps.proxySignIns.forgetCancelled()
    },
    onReplaced: parts.onReplaced,
    openServer: deps.openServer,
    show({ isNew }) {
      windows.show(isNew ? '/' : undefined)
      if (isNew) windows.reload()
    },
    onFailure: error => log.error({ err: error }, 'the manager could not be reached'),
  })
  return { server, trust, starter }
}
