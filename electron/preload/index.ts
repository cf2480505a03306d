import { contextBridge, ipcRenderer } from 'electron'
import {
  channelOf,
  HOST_EVENT_CHANNEL,
  HOST_METHODS,
  type HostBridge,
  type HostEventsBridge,
} from '#proxy/contract/host-api'

/** Methods that reach into other programs: only while the user has just clicked or typed, which no script can pretend. */
const NEED_A_GESTURE: readonly string[] = [channelOf('ssh', 'openIn'), channelOf('drag', 'start')]

function call(channel: string, args: unknown[]): Promise<unknown> {
  const { userActivation } = navigator as { readonly userActivation?: { readonly isActive: boolean } }
  if (!NEED_A_GESTURE.includes(channel) || userActivation?.isActive !== false) return ipcRenderer.invoke(channel, args)
  const why = 'Other programs are reached by a click only.'
  return Promise.resolve({ ok: false, error: { code: 'forbidden', message: why, detail: { why } } })
}

/**
 * The page's whole access to this computer: one function per HostApi method, and host events. It names methods and passes plain
 * data; every check is on the other side, in `main/ipc/serve-host-api.ts`. No Electron object crosses.
 */
const host = Object.fromEntries(
  Object.entries(HOST_METHODS).map(([group, methods]) => [
    group,
    Object.fromEntries(
      Object.keys(methods).map(method => [method, (...args: unknown[]) => call(channelOf(group, method), args)]),
    ),
  ]),
) as unknown as HostBridge

const hostEvents: HostEventsBridge = {
  on(name, listener) {
    const forward = (_event: unknown, event: string, payload: unknown) => {
      if (event === name) listener(payload as never)
    }
    ipcRenderer.on(HOST_EVENT_CHANNEL, forward)
    return () => void ipcRenderer.off(HOST_EVENT_CHANNEL, forward)
  },
}

contextBridge.exposeInMainWorld('host', host)
contextBridge.exposeInMainWorld('hostEvents', hostEvents)
