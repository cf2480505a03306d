import { createDraggedFiles, type DraggedFiles } from '../files/dragged-files.ts'
import { type Connector } from '../server/connector.ts'
import { createTerminals, type Terminals } from '../terminal/terminals.ts'
import { TRAY_ICON } from '../windows/tray-icon.ts'
import { type DesktopDeps } from './desktop-deps.ts'

/** Work of the pages in this process besides tunnels: terminals, and files that are dragged out of a window. */
export interface PageWork {
  readonly terminals: Terminals
  readonly draggedFiles: DraggedFiles
}

export function createPageWork(
  { electron, network, draggedFolder }: Pick<DesktopDeps, 'electron' | 'network' | 'draggedFolder'>,
  connector: Connector,
): PageWork {
  const account = async () => (await connector.current()).account
  return {
    terminals: createTerminals({ account, agentFor: network.agentFor }),
    draggedFiles: createDraggedFiles({
      account,
      fetch: network.fetch,
      folder: draggedFolder,
      icon: electron.nativeImage.createFromDataURL(TRAY_ICON),
    }),
  }
}
