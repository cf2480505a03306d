// @vitest-environment happy-dom
import { createPinia } from 'pinia'
import { createApp, defineComponent, h } from 'vue'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { AppError, type App, type SessionId } from '#manager/contract'
import { type Tunnel } from '#proxy/contract'
import { provideServices, type Services } from '../../services.ts'
import { testEvents } from '../../testing/services.ts'
import { appCards, portCard, viewerOf } from './app-kinds.ts'
import { useOpenApp } from '../../data/apps/useOpenApp.ts'
import { useOpenDirectly } from '../../data/apps/useOpenDirectly.ts'
import { useNotifications } from '../../ui/useNotifications.ts'

const JUPYTER: App = { name: 'jupyterlab', title: 'JupyterLab', protocol: 'http', path: '/lab' }
const SSHD: App = { name: 'sshd', title: 'SSH and SFTP', protocol: 'tcp', path: '/' }
const TUNNEL = { id: 't1', port: 40_022, host: '127.0.0.1', openedAt: '' } as Tunnel

test('terminal and SSH are always offered, web pages come first, and nothing twice', () => {
  expect(appCards({ apps: [] }).map(card => card.kind)).toEqual(['terminal', 'ssh'])
  const dashboard: App = { name: 'dashboard', title: 'Dashboard', protocol: 'https', path: '/' }
  expect(appCards({ apps: [dashboard] })[0]).toMatchObject({ kind: 'http' })
  expect(portCard('https-8443')).toMatchObject({ kind: 'http', app: { protocol: 'https' } })
  const vnc: App = { name: 'vnc', title: 'VNC', protocol: 'tcp', path: '/' }
  expect(appCards({ apps: [vnc, SSHD, JUPYTER] }).map(card => card.app.name)).toEqual([
    'jupyterlab',
    'terminal',
    'sshd',
    'vnc',
  ])
})

test.each([
  ['vnc', 'tcp', 'vnc'],
  ['xrdp', 'tcp', 'rdp'],
  // A page such as noVNC needs no viewer.
  ['vnc', 'http', null],
  ['postgres', 'tcp', null],
] as const)('the viewer of %s over %s is %s', (name, protocol, viewer) => {
  expect(viewerOf({ name, protocol })).toBe(viewer)
})

describe('opening an app', () => {
  const openApp = vi.fn()
  const tab = {
    opener: {} as unknown,
    location: { replace: vi.fn() },
    close: vi.fn(),
    document: document.implementation.createHTMLDocument(),
  }
  const windowOpen = vi.spyOn(window, 'open')
  beforeEach(() => {
    vi.clearAllMocks()
    tab.opener = {}
    windowOpen.mockReturnValue(tab as unknown as Window)
  })

  const inPage = () => inComponent(() => useOpenApp('s' as SessionId))

  function inComponent<T>(use: () => T): T {
    let result: T | undefined
    const services = {
      events: testEvents(),
      host: { tunnel: { openApp, open: openApp, list: () => Promise.resolve([]) }, on: () => () => undefined },
    }
    const app = createApp(
      defineComponent(() => {
        result = use()
        return () => h('div')
      }),
    )
    app.use(createPinia())
    provideServices(app, services as unknown as Services)
    app.mount(document.createElement('div'))
    return result!
  }

  test('the tab opens within the click and goes to the one-time address, without a way back', async () => {
    openApp.mockResolvedValue({ url: 'http://x.localhost:1/?t=1', tunnel: TUNNEL })
    const { open, openings } = inPage()
    const opening = open(JUPYTER)
    expect(windowOpen).toHaveBeenCalledTimes(1)
    expect(tab.document.title).toBe('Starting JupyterLab…')
    await opening
    expect(tab.location.replace).toHaveBeenCalledWith('http://x.localhost:1/?t=1')
    expect(tab.opener).toBeNull()
    expect(openings.get('jupyterlab')).toMatchObject({ status: 'ready', url: null })
  })

  test('if the browser blocks the tab, the address becomes a link', async () => {
    windowOpen.mockReturnValue(null)
    openApp.mockResolvedValue({ url: 'http://x.localhost:1/?t=1', tunnel: TUNNEL })
    const { open, openings } = inPage()
    await open(JUPYTER)
    expect(openings.get('jupyterlab')).toMatchObject({ status: 'ready', url: 'http://x.localhost:1/?t=1' })
  })

  test('the message that opens an app later gives it no way back either', async () => {
    windowOpen.mockReturnValue(null)
    openApp.mockResolvedValue({ url: 'http://x.localhost:1/?t=1', tunnel: TUNNEL })
    const { open, notifications } = inComponent(() => ({
      open: useOpenDirectly(() => 'Open'),
      notifications: useNotifications(),
    }))
    await open({ id: 's' as SessionId }, JUPYTER)
    notifications.items[0]?.action?.run()
    expect(windowOpen).toHaveBeenLastCalledWith('http://x.localhost:1/?t=1', '_blank', 'noopener,noreferrer')
  })

  test('a cancelled start closes its tab, and its late answer changes nothing', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    openApp.mockReturnValue(promise)
    const { open, cancel, openings } = inPage()
    const opening = open(JUPYTER)
    cancel('jupyterlab')
    expect(tab.close).toHaveBeenCalled()
    resolve({ url: 'http://x.localhost:1/?t=1', tunnel: TUNNEL })
    await opening
    expect(openings.size).toBe(0)
    expect(tab.location.replace).not.toHaveBeenCalled()
  })

  test('a taken port becomes a question that names its holder, other failures are shown', async () => {
    openApp.mockRejectedValue(
      new AppError('port_in_use', { port: 8888, holder: { kind: 'process', name: 'nginx', pid: 7 }, offered: 8901 }),
    )
    const { open, openings } = inPage()
    await open(JUPYTER, { port: 8888 })
    expect(openings.get('jupyterlab')).toEqual({
      status: 'port_taken',
      port: 8888,
      holder: 'nginx (process 7)',
      offered: 8901,
    })
    expect(tab.close).toHaveBeenCalled()
    openApp.mockRejectedValue(
      new AppError('port_in_use', {
        port: 8400,
        holder: { kind: 'berth', name: 'node main.ts', pid: 7 },
        offered: 8901,
      }),
    )
    await open(JUPYTER, { port: 8400 })
    expect(openings.get('jupyterlab')).toMatchObject({ holder: 'Berth' })
    openApp.mockRejectedValue(
      new AppError('port_in_use', {
        port: 8888,
        holder: { kind: 'tunnel', sessionName: 'train', app: 'sshd' },
        offered: 8901,
      }),
    )
    await open(JUPYTER, { port: 8888 })
    expect(openings.get('jupyterlab')).toMatchObject({ holder: 'your connection to SSH of train' })
    openApp.mockRejectedValue(new AppError('app_failed'))
    await open(JUPYTER)
    expect(openings.get('jupyterlab')).toMatchObject({ status: 'failed', error: { code: 'app_failed' } })
  })

  test('a port opens no tab', async () => {
    openApp.mockResolvedValue(TUNNEL)
    const { open, openings } = inPage()
    await open(SSHD)
    expect(windowOpen).not.toHaveBeenCalled()
    expect(openings.get('sshd')).toMatchObject({ status: 'ready', tunnel: { port: 40_022 } })
  })
})
