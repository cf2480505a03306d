import { defineStore } from 'pinia'
import { computed, onScopeDispose, ref, shallowRef, watch } from 'vue'
import { type SessionId } from '#manager/contract'
import {
  type FolderKit,
  type FolderPort,
  type FolderPortSpec,
  type Tunnel,
  type TunnelId,
  type TunnelTraffic,
} from '#proxy/contract'
import { createPaced } from '../../api/paced.ts'
import { useServices } from '../../services.ts'
import { useAccount } from '../account/useAccount.ts'

/** Pace of fetching. Reasons to fetch are gathered for longer than the local proxy takes to close the tunnels of an ended session. */
const PACE = { gatherMs: 500, busyMs: 4_000 }

/**
 * The open tunnels of this user on this computer. A page that shows their list follows the events of the host (`load`). Any other page in a
 * browser fetches them once (`check`), and again when a tab has opened or closed a tunnel, a session with tunnels has changed, or the page
 * is shown again: events of the host would take one of the few connections that browsers open to a server.
 */
export const useTunnels = defineStore('tunnels', () => {
  const { host, events } = useServices()
  const account = useAccount()
  const byId = ref(new Map<TunnelId, Tunnel>())
  const rates = ref(new Map<TunnelId, Pick<TunnelTraffic, 'upPerSecond' | 'downPerSecond'>>())
  /** The port that serves all folders by SFTP; null if it is closed. */
  const folderPort = shallowRef<FolderPort | null>(null)
  const error = ref<unknown>(null)
  const closing = ref(new Set<TunnelId>())
  const all = computed(() => [...byId.value.values()].toSorted((a, b) => a.openedAt.localeCompare(b.openedAt)))
  let listening = false
  let isAsked = false
  let asking: Promise<void> | undefined
  /** Increases with each change that makes answers in flight stale. */
  let changes = 0

  const keep = (tunnel: Tunnel) => byId.value.set(tunnel.id, tunnel)
  const remove = (id: TunnelId) => {
    byId.value.delete(id)
    rates.value.delete(id)
    closing.value.delete(id)
  }

  function carried(traffic: readonly TunnelTraffic[]): void {
    for (const { id, bytesUp, bytesDown, ...rate } of traffic) {
      const tunnel = byId.value.get(id)
      if (!tunnel) continue
      byId.value.set(id, { ...tunnel, bytesUp, bytesDown })
      rates.value.set(id, rate)
    }
  }

  /** Fetches the tunnels and follows them from then on. */
  async function load(): Promise<void> {
    if (!listening) {
      listening = true
      host.on('tunnel:changed', keep)
      host.on('tunnel:traffic', carried)
      host.on('tunnel:closed', ({ id }) => {
        changes++
        remove(id)
      })
      host.on('sftp:changed', port => (folderPort.value = port))
    }
    await check()
  }

  /** Fetches the tunnels once. */
  function check(): Promise<void> {
    isAsked = true
    changes++
    return (asking ??= ask().finally(() => (asking = undefined)))
  }

  async function ask(): Promise<void> {
    const before = changes
    const answer = await Promise.all([host.tunnel.list(), host.sftp.state()]).catch((cause: unknown) => ({ cause }))
    if (changes !== before) return ask()
    if ('cause' in answer) {
      error.value = answer.cause
      return
    }
    const [tunnels, port] = answer
    byId.value = new Map(tunnels.map(tunnel => [tunnel.id, tunnel]))
    folderPort.value = port
    error.value = null
  }

  const again = createPaced({ run: () => check().then(() => true), ...PACE })
  function checkAgain(): void {
    // A hidden page fetches when it is shown.
    const isHidden = (globalThis as Partial<typeof globalThis>).document?.hidden ?? false
    if (isAsked && !isHidden && account.state === 'signed_in') again.ask()
  }
  const tabs = new BroadcastChannel('berth-tunnels')
  tabs.addEventListener('message', checkAgain)
  const stops = [
    events.onResync(checkAgain),
    events.onHint(({ topic, id }) => {
      if (topic === 'session' && all.value.some(({ sessionId }) => sessionId === id)) checkAgain()
    }),
  ]
  const page = (globalThis as Partial<typeof globalThis>).document
  page?.addEventListener('visibilitychange', checkAgain)
  onScopeDispose(() => {
    for (const stop of stops) stop()
    page?.removeEventListener('visibilitychange', checkAgain)
    again.cancel()
    tabs.close()
  })

  /** Records an action of this page, and tells the other tabs. */
  function acted(): void {
    changes++
    tabs.postMessage(null)
  }

  // Tunnels end with the last sign-in of their user. After a new sign-in, fetch them again: events in between were missed.
  watch(
    () => account.state,
    state => {
      if (state !== 'signed_in' || !isAsked) return
      if (!listening) return void check()
      host.reconnect()
      void load()
    },
  )

  /** Adds a tunnel that this page has opened. */
  function put(tunnel: Tunnel): void {
    keep(tunnel)
    acted()
  }

  /** Closes a tunnel. @throws the host's error; the tunnel then stays listed */
  async function close(id: TunnelId): Promise<void> {
    closing.value.add(id)
    try {
      await host.tunnel.close(id)
      remove(id)
      acted()
    } finally {
      closing.value.delete(id)
    }
  }

  /** Opens the SFTP port of the folders. @throws the host's error */
  async function openFolderPort(spec: FolderPortSpec): Promise<FolderKit> {
    const kit = await host.sftp.open(spec)
    folderPort.value = kit.port
    acted()
    return kit
  }

  /** Closes the SFTP port of the folders. @throws the host's error */
  async function closeFolderPort(): Promise<void> {
    await host.sftp.close()
    folderPort.value = null
    acted()
  }

  const ofSession = (id: SessionId) => all.value.filter(tunnel => tunnel.sessionId === id)
  /** Number of open listeners. */
  const count = computed(() => byId.value.size + (folderPort.value ? 1 : 0))
  return {
    ...{ all, rates, folderPort, count, error, closing },
    ...{ load, check, close, openFolderPort, closeFolderPort, put, ofSession },
  }
})
