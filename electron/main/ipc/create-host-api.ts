import {
  type DesktopReport,
  HOST_EVENT_CHANNEL,
  type Endpoint,
  type EndpointChoice,
  type HostApi,
} from '#proxy/contract'
import { type Connection } from '../server/connection.ts'
import { type ElectronSlice, type InvokeEvent } from '../electron-slice.ts'
import { type DraggedFiles } from '../files/dragged-files.ts'
import { type Programs } from '../programs/open-program.ts'
import { type Links } from '../security/open-links.ts'
import { type TerminalPage, type Terminals } from '../terminal/terminals.ts'

export interface HostApiDeps {
  readonly electron: Pick<ElectronSlice, 'app'>
  readonly connection: () => Promise<Connection>
  readonly endpoint: () => Promise<Endpoint>
  readonly setEndpoint: (choice: EndpointChoice) => Promise<Endpoint>
  readonly links: Links
  /** Called when a link of Berth itself was opened in the browser. */
  readonly sentToBrowser: () => void
  readonly terminals: Terminals
  readonly desktop: Omit<HostApi['desktop'], 'report'>
  readonly report: (page: number, report: DesktopReport) => void
  readonly programs: Programs
  readonly draggedFiles: Pick<DraggedFiles, 'fetch' | 'start'>
}

/** HostApi of the desktop app; the rules are in the parts it combines. */
export function createHostApi(deps: HostApiDeps): (page: InvokeEvent['sender']) => HostApi {
  const { electron, terminals } = deps
  const proxy = async () => (await deps.connection()).proxy()
  const shared: Omit<HostApi, 'terminal' | 'desktop' | 'drag'> = {
    host: {
      info: () => Promise.resolve({ kind: 'electron', version: electron.app.getVersion(), platform: process.platform }),
      settings: async () => (await proxy()).settings(),
      saveSettings: async settings => (await proxy()).saveSettings(settings),
      async openExternal(url, source) {
        if (source === 'berth') deps.sentToBrowser()
        await deps.links.open(url, source)
        return true
      },
      endpoint: deps.endpoint,
      setEndpoint: deps.setEndpoint,
    },
    tunnel: {
      open: async spec => (await proxy()).tunnel.open(spec),
      openApp: async spec => (await proxy()).tunnel.openApp(spec),
      // For a signed-out page the list of tunnels is empty, not an error.
      list: async () =>
        (await (await deps.connection()).running()).tunnels === 0 ? [] : (await proxy()).tunnel.list(),
      close: async id => (await proxy()).tunnel.close(id),
      wake: async () => (await deps.connection()).wake(),
    },
    sftp: {
      open: async spec => (await proxy()).sftp.open(spec),
      state: async () =>
        (await (await deps.connection()).running()).tunnels === 0 ? null : (await proxy()).sftp.state(),
      close: async () => (await proxy()).sftp.close(),
      keyFile: async format => (await proxy()).sftp.keyFile(format),
    },
    ssh: {
      connect: async spec => (await proxy()).ssh.connect(spec),
      keyFile: async (sessionId, format) => (await proxy()).ssh.keyFile(sessionId, format),
      programs: () => deps.programs.list(),
      async openIn(program, sessionId) {
        const kit = await (await proxy()).ssh.connect({ sessionId, app: 'sshd', onPortTaken: 'random' })
        await deps.programs.open(program, kit)
      },
    },
  }
  return sender => ({
    ...shared,
    drag: {
      fetch: deps.draggedFiles.fetch,
      // An error that `start` throws becomes a rejection, as with every other method.
      start: id => Promise.resolve().then(() => deps.draggedFiles.start(sender, id)),
    },
    desktop: {
      ...deps.desktop,
      report(report) {
        deps.report(sender.id, report)
        return Promise.resolve()
      },
    },
    terminal: terminals.apiFor(terminalPage(sender)),
  })
}

function terminalPage(sender: InvokeEvent['sender']): TerminalPage {
  return {
    id: sender.id,
    emit(event, payload) {
      if (!sender.isDestroyed()) sender.send(HOST_EVENT_CHANNEL, event, payload)
    },
  }
}
