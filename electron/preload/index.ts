import { contextBridge, ipcRenderer } from 'electron'
import {
  channelOf,
  HOST_EVENT_CHANNEL,
  HOST_METHODS,
  type HostBridge,
  type HostEventsBridge,
} from '#proxy/contract/host-api'

const CHOOSE_CA_FILE = channelOf('desktop', 'chooseCaFile')

/** Methods that start other programs, or decide which servers are connected to and trusted: allowed only right after a click or a key. */
const NEED_A_GESTURE: readonly string[] = [
  channelOf('ssh', 'openIn'),
  channelOf('drag', 'start'),
  channelOf('host', 'setEndpoint'),
  channelOf('desktop', 'openServer'),
  channelOf('desktop', 'forgetServer'),
  CHOOSE_CA_FILE,
]

/** Time during which the page may continue after a system dialog, which takes longer than a click counts. */
const AFTER_QUESTION_MS = 1_000
let answeredAt = -Infinity

/**
 * Whether the user has just acted. This script runs in an isolated world, so no script of the page can change the `navigator` that it
 * reads. The main process could only see clicks and keys, but people who press buttons with a screen reader cause neither.
 */
function isUserActing(): boolean {
  const { userActivation } = navigator as { readonly userActivation?: { readonly isActive: boolean } }
  return userActivation?.isActive !== false || performance.now() - answeredAt < AFTER_QUESTION_MS
}

async function call(channel: string, args: unknown[]): Promise<unknown> {
  if (NEED_A_GESTURE.includes(channel) && !isUserActing()) {
    const why = 'This takes a click or a key of the user.'
    return { ok: false, error: { code: 'forbidden', message: why, detail: { why } } }
  }
  const reply: unknown = await ipcRenderer.invoke(channel, args)
  if (channel === CHOOSE_CA_FILE) answeredAt = performance.now()
  return reply
}

/**
 * The page's whole access to this computer: one function per HostApi method, and host events. It names methods and passes plain
 * data; every other check is on the other side, in `main/ipc/serve-host-api.ts`. No Electron object crosses.
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
