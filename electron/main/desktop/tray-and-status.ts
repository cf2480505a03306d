import { type Connector } from '../server/connector.ts'
import { type UserProxy } from '../server/connection.ts'
import { type AppStatusKeeper, createAppStatus } from '../windows/app-status.ts'
import { type ConsoleWindows } from '../windows/console-windows.ts'
import { type AppTray, createTray } from '../windows/tray.ts'
import { type DesktopDeps, type OnUnexpected } from './desktop-deps.ts'

interface Parts {
  readonly windows: ConsoleWindows
  readonly connector: Connector
  /** Ends the app. */
  readonly stopAndQuit: () => void
  readonly onUnexpected: OnUnexpected
}

/** The state of sessions, tunnels and uploads, and where the system shows it: tray, badge and task bar. */
export function createTrayAndStatus(
  { electron, language }: Pick<DesktopDeps, 'electron' | 'language'>,
  { windows, connector, stopAndQuit, onUnexpected }: Parts,
): { readonly tray: AppTray; readonly status: AppStatusKeeper } {
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
      stopAndQuit,
    },
  })
  const status = createAppStatus({
    onChange: now => tray.update(now),
    setBadge: count => void electron.app.setBadgeCount(count),
    setProgress: (fraction, mode) => windows.setProgress(fraction, mode),
  })
  return { tray, status }
}
