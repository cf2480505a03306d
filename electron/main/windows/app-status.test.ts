import { expect, test, vi } from 'vitest'
import { TunnelId, type Tunnel } from '#proxy/contract'
import { SessionId } from '#manager/contract'
import { createAppStatus } from './app-status.ts'
import { trayMenu, type TrayActs } from './tray.ts'

const id = SessionId.parse('01900000-0000-7000-8000-000000000001')
const TUNNEL: Tunnel = {
  id: TunnelId.parse('t1'),
  sessionId: id,
  sessionName: 'train & test',
  app: { name: 'jupyterlab', title: 'JupyterLab', protocol: 'http', path: '/' },
  host: '127.0.0.1',
  port: 30_001,
  state: 'open',
  connections: 1,
  bytesUp: 0,
  bytesDown: 0,
  lastError: null,
  openedAt: '2026-11-20T12:00:00.000Z',
}

let clock = 0
function aStatus() {
  const deps = { onChange: vi.fn(), setBadge: vi.fn(), setProgress: vi.fn(), now: () => clock }
  return { ...deps, status: createAppStatus(deps) }
}

test('the tray is told of tunnels that open, change their state and close, not of their traffic', () => {
  const { status, onChange } = aStatus()
  status.heard('tunnel:changed', TUNNEL)
  status.heard('tunnel:changed', { ...TUNNEL, connections: 9, bytesUp: 1_000 })
  status.heard('tunnel:traffic', [{ id: TUNNEL.id, bytesUp: 1, bytesDown: 1, upPerSecond: 1, downPerSecond: 1 }])
  expect(onChange).toHaveBeenCalledOnce()
  status.heard('tunnel:changed', { ...TUNNEL, state: 'reconnecting' })
  status.heard('sftp:changed', { host: '127.0.0.1', port: 30_022, connections: 0, openedAt: TUNNEL.openedAt })
  status.heard('tunnel:closed', { id: TUNNEL.id, reason: 'user' })
  expect(onChange).toHaveBeenCalledTimes(4)
  expect(onChange).toHaveBeenLastCalledWith(expect.objectContaining({ tunnels: [], sessions: [] }))
})

test('the tray learns now and then what tunnels have carried', () => {
  const { status, onChange } = aStatus()
  status.heard('tunnel:changed', TUNNEL)
  const traffic = (bytesUp: number) =>
    status.heard('tunnel:traffic', [{ id: TUNNEL.id, bytesUp, bytesDown: 2, upPerSecond: 1, downPerSecond: 1 }])
  traffic(1_000)
  expect(onChange).toHaveBeenCalledOnce()
  clock += 10_000
  traffic(1_500_000)
  traffic(1_600_000)
  expect(onChange).toHaveBeenCalledTimes(2)
  expect(onChange).toHaveBeenLastCalledWith(
    expect.objectContaining({ tunnels: [expect.objectContaining({ bytesUp: 1_500_000, bytesDown: 2 })] }),
  )
})

test('badge and task bar follow the reports of the page', () => {
  const { status, setBadge, setProgress } = aStatus()
  status.reported(1, { unread: 2, sessions: [], uploads: { fraction: 0.25, isPaused: false }, hasEdits: false })
  status.reported(1, { unread: 2, sessions: [], uploads: { fraction: 0.5, isPaused: true }, hasEdits: true })
  expect(status.work).toEqual({ uploads: 0.5, hasEdits: true })
  status.reported(2, { unread: 0, sessions: [], uploads: null, hasEdits: false })
  expect(status.work).toEqual({ uploads: 0.5, hasEdits: true })
  status.pageGone(1)
  expect(status.work).toEqual({ uploads: null, hasEdits: false })
  expect(setBadge.mock.calls).toEqual([[2], [0]])
  expect(setProgress.mock.calls).toEqual([
    [0.25, 'normal'],
    [0.5, 'paused'],
    [0.5, 'paused'],
    [-1, 'normal'],
  ])
})

test('the tray leads to running sessions, their terminals, and open tunnels; texts of others are no accelerators', () => {
  const acts = { openTerminal: vi.fn(), copy: vi.fn(), closeTunnel: vi.fn(), show: vi.fn() }
  const status = {
    sessions: [{ id, name: 'train & test' }],
    tunnels: [TUNNEL],
    folderPort: { host: '127.0.0.1', port: 30_022, connections: 0, openedAt: TUNNEL.openedAt },
  }
  const menu = trayMenu(status, 'en', { ...acts, closeFolderPort: vi.fn(), stopAndQuit: vi.fn() } satisfies TrayActs)
  const item = (...labels: readonly string[]) => {
    let items: readonly Electron.MenuItemConstructorOptions[] = menu
    let found: Electron.MenuItemConstructorOptions | undefined
    for (const label of labels) {
      found = items.find(one => one.label === label)
      items = (found?.submenu as Electron.MenuItemConstructorOptions[] | undefined) ?? []
    }
    if (!found?.click) throw new Error(`no item ${labels.join(' > ')}`)
    return found.click as () => void
  }
  item('train && test', 'Open')()
  expect(acts.show).toHaveBeenCalledWith(`/sessions/${id}`)
  item('train && test', 'Terminal')()
  expect(acts.openTerminal).toHaveBeenCalledWith(id)
  item('JupyterLab of train && test: 127.0.0.1:30001', 'Copy Address')()
  expect(acts.copy).toHaveBeenCalledWith('127.0.0.1:30001')
  item('JupyterLab of train && test: 127.0.0.1:30001', 'Close')()
  expect(acts.closeTunnel).toHaveBeenCalledWith(TUNNEL.id)
  expect(
    JSON.stringify(
      trayMenu({ ...status, tunnels: [{ ...TUNNEL, state: 'reconnecting', bytesUp: 1_500_000 }] }, 'en', {
        ...acts,
        closeFolderPort: vi.fn(),
        stopAndQuit: vi.fn(),
      }),
    ),
  ).toContain('Reconnecting · ↑ 1.5 MB · ↓ 0 B')
  item('SFTP of all folders: 127.0.0.1:30022', 'Copy Address')()
  expect(acts.copy).toHaveBeenLastCalledWith('127.0.0.1:30022')
})
